#include "engine/pace.h"

#include <gtest/gtest.h>

namespace hearth::engine {
namespace {

TEST(Pace, WhileNobodyWaitsAStepIsFull) {
  Pace pace(512);
  EXPECT_EQ(pace.budget(false), 512);
  pace.took(512, 60);
  EXPECT_EQ(pace.budget(false), 512);
}

TEST(Pace, WhileSomebodyWaitsAStepTakesABoundedTime) {
  Pace pace(512);
  EXPECT_EQ(pace.budget(true), Pace::first_tokens);
  pace.took(64, 0.064);  // a millisecond a token
  EXPECT_EQ(pace.budget(true), 250);
  for (int i = 0; i < 20; ++i) pace.took(pace.budget(true), 0.002 * pace.budget(true));
  EXPECT_NEAR(pace.budget(true), 125, 1);  // it got slower: a longer past, a busier machine
  for (int i = 0; i < 20; ++i) pace.took(pace.budget(true), 1e-5 * pace.budget(true));
  EXPECT_EQ(pace.budget(true), 512);
}

TEST(Pace, ASlowMachineStillReadsThePrompt) {
  Pace pace(512);
  pace.took(64, 640);
  EXPECT_EQ(pace.budget(true), Pace::least_tokens);
  EXPECT_EQ(Pace(8).budget(true), 8);
}

TEST(Pace, StepsThatOnlyDecodeDoNotCount) {
  Pace pace(512);
  pace.took(64, 0.064);
  pace.took(8, 1.0);
  EXPECT_EQ(pace.budget(true), 250);
}

}  // namespace
}  // namespace hearth::engine
