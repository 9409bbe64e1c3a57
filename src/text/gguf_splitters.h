// How the byte-level vocabularies of GGUF files split text before they merge: one row for each
// value of `tokenizer.ggml.pre`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::text::gguf {

enum class StepKind {
  split,        // by a regular expression
  digits,       // every digit apart
  numbers,      // runs of digits apart
  punctuation,  // runs of punctuation apart
  gpt2,         // GPT-2's own regular expression
};

struct Step {
  StepKind kind;
  std::string_view regex = {};
};

struct Splitter {
  std::span<const std::string_view> names;  // values of tokenizer.ggml.pre
  std::span<const Step> steps;
  bool nfc = false;
  bool ignore_merges = false;  // a word that is a token is taken whole
  bool adds_bos = false;       // where the file does not say
};

/// Errors: unsupported, naming the known ones.
Result<const Splitter*> find_splitter(const std::string& pre);

}  // namespace hearth::text::gguf
