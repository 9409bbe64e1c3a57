#include "cli/cache_options.h"

#include <gtest/gtest.h>

#include "cli/memory.h"

namespace hearth::cli {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

TEST(CacheOptionsTest, TheDefaultFollowsTheMachine) {
  EXPECT_EQ(default_prompt_cache(8 * gib, 6 * gib), 2 * gib);
  EXPECT_EQ(default_prompt_cache(100 * gib, 90 * gib), 10 * gib);
  EXPECT_EQ(default_prompt_cache(100 * gib, 3 * gib), 3 * gib / 2);
}

TEST(CacheOptionsTest, FreeMemoryIsSomeOfAll) {
  EXPECT_GT(free_memory(), 0u);
  EXPECT_LE(free_memory(), main_memory());
}

}  // namespace
}  // namespace hearth::cli
