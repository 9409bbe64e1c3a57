#include "engine/argmax.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace hearth::engine {
namespace {

constexpr std::size_t word_bits = 32;

/// Whether one of these is above `bound`; a whole word of them takes a few vector instructions.
bool any_above(std::span<const float> x, float bound) {
  if (x.size() != word_bits) return std::ranges::any_of(x, [&](float v) { return v > bound; });
  int above = 0;
  for (std::size_t i = 0; i < word_bits; ++i) above |= x[i] > bound;
  return above != 0;
}

}  // namespace

text::TokenId argmax(std::span<const float> x, MaskWords mask) {
  text::TokenId best = -1;
  float highest = -std::numeric_limits<float>::infinity();
  for (std::size_t word = 0; word * word_bits < x.size(); ++word) {
    const auto begin = word * word_bits;
    const auto some = x.subspan(begin, std::min(word_bits, x.size() - begin));
    std::uint32_t bits = mask.empty() ? ~0u : word < mask.size() ? mask[word] : 0;
    if (bits == 0 || (best >= 0 && !any_above(some, highest))) continue;
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t i = std::countr_zero(bits);
      if (i >= some.size()) break;
      if (some[i] > highest || (best < 0 && some[i] == highest)) {
        highest = some[i];
        best = static_cast<text::TokenId>(begin + i);
      }
    }
  }
  return best;
}

}  // namespace hearth::engine
