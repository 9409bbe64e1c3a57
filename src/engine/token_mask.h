// Which tokens one row may take next: a grammar, a forced marker, whatever narrows the choice.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "text/tokenizer.h"

namespace hearth::engine {

/// Bit i % 32 of word i / 32 is token i; tokens beyond the words are ruled out.
using MaskWords = std::span<const std::uint32_t>;

inline bool mask_allows(MaskWords words, text::TokenId id) {
  const auto word = std::size_t(id) / 32;
  return id >= 0 && word < words.size() && (words[word] >> (id % 32) & 1);
}

/// Calls come one at a time, from different threads: compute() on a helper's while the device
/// works, the others on the engine thread. An error ends the row, and no other.
class TokenMask {
 public:
  virtual ~TokenMask() = default;

  /// Tokens that may come next, valid until the next call. No words: all may.
  virtual Result<MaskWords> compute() = 0;

  /// `id` was sampled. Not called for an id that ends the turn.
  virtual Result<void> accept(text::TokenId id) = 0;

  /// Nothing may follow: the row ends as if the model had ended its turn.
  virtual bool complete() const = 0;
};

}  // namespace hearth::engine
