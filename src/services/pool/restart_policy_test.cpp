#include "services/pool/restart_policy.h"

#include <gtest/gtest.h>

namespace hearth::services {
namespace {

using namespace std::chrono_literals;
using Time = RestartPolicy::Time;

TEST(RestartPolicy, TheFirstDeathIsAnsweredAtOnce) {
  RestartPolicy policy;
  EXPECT_EQ(policy.died(Time(0s), Time(1s)), 0ms);
}

TEST(RestartPolicy, TwoQuickDeathsInARowArePaused) {
  RestartPolicy policy;
  EXPECT_EQ(policy.died(Time(0s), Time(9s)), 0ms);
  EXPECT_EQ(policy.died(Time(9s), Time(18s)), 5000ms);
}

TEST(RestartPolicy, ASlowDeathBetweenThemIsNot) {
  RestartPolicy policy;
  EXPECT_EQ(policy.died(Time(0s), Time(9s)), 0ms);
  EXPECT_EQ(policy.died(Time(9s), Time(29s)), 0ms);
}

TEST(RestartPolicy, AfterThreeRestartsInAMinuteTheNextDeathIsTheEnd) {
  RestartPolicy policy;
  EXPECT_EQ(policy.died(Time(0s), Time(20s)), 0ms);
  EXPECT_EQ(policy.died(Time(20s), Time(40s)), 0ms);
  EXPECT_EQ(policy.died(Time(40s), Time(55s)), 0ms);
  EXPECT_EQ(policy.died(Time(55s), Time(79s)), std::nullopt);
  EXPECT_EQ(policy.died(Time(79s), Time(80s)), 0ms);  // named again
}

TEST(RestartPolicy, ARestartOfLongAgoLeavesRoomForAnother) {
  RestartPolicy policy;
  for (const Time now : {Time(20s), Time(40s), Time(60s), Time(81s)}) {
    EXPECT_EQ(policy.died(now - 15s, now), 0ms);
  }
  EXPECT_EQ(policy.died(Time(81s), Time(99s)), std::nullopt);
}

TEST(RestartPolicy, DeathsOfLongAgoDoNotCount) {
  RestartPolicy policy;
  for (int minute = 1; minute < 50; ++minute) {
    const Time now(std::chrono::seconds(61 * minute));
    EXPECT_EQ(policy.died(now - 60s, now), 0ms);
  }
}

}  // namespace
}  // namespace hearth::services
