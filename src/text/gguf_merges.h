// The merges of a GGUF file's BPE as text of a JSON array: those it holds, and those that follow
// from its pieces' scores.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/gguf_vocabulary.h"

namespace hearth::text::gguf {

/// Appends a JSON string. Vocabularies are written by hand: they have hundreds of thousands of
/// keys, and ordered_json searches them all for each new one.
void append_quoted(std::string& out, std::string_view text);

/// Errors: corrupt_file for what is no list of pairs.
Result<std::string> stored_merges(const Metadata& metadata);

/// Every pair of pieces that makes a piece. The higher score merges first; among equals the longer
/// left part, then the longer right one, then the older piece: as the converter of
/// sentencepiece models in transformers orders them (generate_merges).
std::string derived_merges(std::span<const Token> tokens);

}  // namespace hearth::text::gguf
