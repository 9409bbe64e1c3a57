// How few tokens a text can come to: what says that it is too long before it is tokenised.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string_view>

#include "base/json.h"
#include "text/decoding.h"

namespace hearth::text {

class TokenBound {
 public:
  /// Nothing is known: any text may come to no token.
  TokenBound() = default;

  /// Reads it off a tokenizer's parts ("normalizer", "pre_tokenizer", and "strips": an added token
  /// swallows the white space beside it).
  /// @param piece  of the vocabulary, by id below `count`
  TokenBound(const Json& parts, Spelling spelling, std::size_t count,
             const std::function<std::string_view(std::size_t id)>& piece);

  /// The fewest tokens of a text; 0 where nothing is known.
  std::size_t least(std::string_view text) const;

 private:
  std::array<bool, 256> spelled_{};  // bytes that never vanish: the vocabulary has each by itself
  std::size_t longest_ = 0;          // most bytes of a token; 0: not bounded
  std::size_t shrinks_ = 1;          // text beyond ASCII may become shorter by so much before
};

}  // namespace hearth::text
