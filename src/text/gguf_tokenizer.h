// The tokenizer inside a GGUF's metadata as the files of a model folder.
// Leaves out reading GGUF (tensor/gguf.h) and running the result (tokenizer.h).
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace hearth::text {

struct GgufTokenizer {
  std::string tokenizer_json;  // for Tokenizer::from_json
  Json tokenizer_config;       // bos_token, eos_token, ..., eos_token_id; named chat templates
  std::string chat_template;   // the default one; empty when the file has none
};

/// Makes a Hugging Face tokenizer of the keys `tokenizer.ggml.*`.
///
/// "gpt2" vocabularies become byte-level BPE, split as `tokenizer.ggml.pre` says; "llama" ones
/// become BPE with byte fallback, its merges derived from the pieces' scores. Every token keeps its
/// id. Control tokens are added and special, user-defined ones added alone; so are tool and
/// thinking markers, which older files call control.
/// @param metadata  of the file: key -> value, as tensor::gguf_metadata gives it
/// Errors: not_found without a tokenizer; unsupported for other kinds ("bert", "t5", ...) and
/// unknown `pre` values, naming them; corrupt_file for lists of the wrong type or length.
Result<GgufTokenizer> gguf_tokenizer(const Json& metadata);

}  // namespace hearth::text
