#include "engine/argmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace hearth::engine {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

text::TokenId plain_argmax(const std::vector<float>& x, const std::vector<std::uint32_t>& mask) {
  text::TokenId best = -1;
  for (int i = 0; i < int(x.size()); ++i) {
    if (!mask.empty() && !mask_allows(mask, i)) continue;
    if (!std::isnan(x[i]) && (best < 0 || x[i] > x[best])) best = i;
  }
  return best;
}

TEST(Argmax, is_that_of_a_plain_loop_whatever_the_mask_leaves) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<float> x(1 + random() % 200);
    for (float& value : x) {
      const auto kind = random() % 12;
      value = kind == 0 ? -infinity : kind == 1 ? std::nanf("") : float(int(random() % 20)) - 10;
    }
    std::vector<std::uint32_t> mask;
    if (random() % 4 > 0) mask.resize(random() % 8);
    const auto kind = random() % 3;
    for (auto& word : mask)
      word = kind == 0 ? ~0u : kind == 1 ? random() & random() & random() : random();
    ASSERT_EQ(argmax(x, mask), plain_argmax(x, mask)) << "round " << round;
  }
}

TEST(Argmax, of_nothing_is_none) {
  EXPECT_EQ(argmax({}, {}), -1);
  const std::vector<std::uint32_t> none{0};
  EXPECT_EQ(argmax(std::vector<float>{1, 2}, none), -1);
}

}  // namespace
}  // namespace hearth::engine
