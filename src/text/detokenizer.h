// Token ids to text while they arrive: never half a character, and joined equal to one decode.
#pragma once

#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace hearth::text {

/// One stream of ids. Works on bytes: what comes out is always whole UTF-8 characters.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = true);
  ~Detokenizer();
  Detokenizer(Detokenizer&&) noexcept;
  Detokenizer& operator=(Detokenizer&&) noexcept;

  /// Text that `id` completes; may be empty. The join of all pushes and of finish() equals
  /// Tokenizer::decode of all ids.
  std::string push(TokenId id);

  /// What was still held, as a whole decode gives it: an incomplete character becomes one U+FFFD
  /// (with byte-fallback pieces one for each of its bytes).
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::text
