// tokenizer.json for the two kinds of BPE that GGUF files hold.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/gguf_splitters.h"
#include "text/gguf_vocabulary.h"

namespace hearth::text::gguf {

struct Ends {
  std::string bos, eos;  // empty: not added
};

/// Byte-level BPE ("gpt2").
/// Errors: corrupt_file for merges that are none.
Result<std::string> byte_level_bpe(const Metadata& metadata, std::span<const Token> tokens,
                                   const Splitter& splitter, const Ends& ends);

/// BPE with byte fallback ("llama"). @param tokens  with space marks
std::string sentencepiece_bpe(const Metadata& metadata, std::span<const Token> tokens,
                              const Ends& ends);

/// The text with sentencepiece's mark for each space.
std::string with_space_marks(std::string_view text);

}  // namespace hearth::text::gguf
