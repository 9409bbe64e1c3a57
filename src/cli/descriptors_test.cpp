#include "cli/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace hearth::cli {
namespace {

TEST(Descriptors, are_raised_as_far_as_the_system_lets_us_and_never_lowered) {
  rlimit own{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  rlimit low = own;
  low.rlim_cur = std::min<rlim_t>(own.rlim_max, 200);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto most = long(std::min<rlim_t>(own.rlim_max, 10240));
  EXPECT_EQ(raise_descriptor_limit(), most);
  EXPECT_EQ(raise_descriptor_limit(), most);
  setrlimit(RLIMIT_NOFILE, &own);
}

}  // namespace
}  // namespace hearth::cli
