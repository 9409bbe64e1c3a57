#include "engine/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace hearth::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 10 layers of 100 bytes a token that see everything, 4 that see the last 64 tokens.
constexpr KvLayers mixed[] = {{.token_bytes = 1000}, {.token_bytes = 400, .window = 64}};

TEST(KvBytes, WindowsStopGrowing) {
  EXPECT_EQ(kv_bytes(mixed, 0), 0u);
  EXPECT_EQ(kv_bytes(mixed, 10), 14'000u);
  EXPECT_EQ(kv_bytes(mixed, 64), 64 * 1400u);
  EXPECT_EQ(kv_bytes(mixed, 1000), 1'000'000 + 64 * 400u);
}

TEST(SafeContext, WeightsCachesAndAStepFitTogether) {
  MemoryPlan plan{.usable = 10'000'000,
                  .weights = 4'000'000,
                  .transient = 2000,
                  .step_tokens = 100,
                  .context = 100'000,
                  .layers = mixed};
  const int tokens = safe_context(plan);
  const auto needed = [&](int n) {
    return plan.weights + kv_bytes(mixed, std::size_t(n)) + 100 * plan.transient;
  };
  EXPECT_LE(needed(tokens), plan.usable);
  EXPECT_GT(needed(tokens + 1), plan.usable);
  plan.context = 500;
  EXPECT_EQ(safe_context(plan), 500);
  plan.usable = plan.weights;
  EXPECT_EQ(safe_context(plan), 0);
  plan.usable = 1;
  EXPECT_EQ(safe_context(plan), 0);
}

TEST(SafeContext, CachesThatStopGrowingHaveNoEnd) {
  constexpr KvLayers window[] = {{.token_bytes = 400, .window = 64}};
  EXPECT_EQ(safe_context({.usable = 30'000, .layers = window}), std::numeric_limits<int>::max());
}

TEST(Admission, WithoutLimitsARequestGetsWhatItAsksFor) {
  EXPECT_EQ(grant(50, 20, {}, mixed)->token_limit, 20);
  EXPECT_EQ(grant(50, 20, {}, mixed)->kv_bytes, kv_bytes(mixed, 70));
  const auto open = *grant(50, {}, {}, mixed);
  EXPECT_GT(open.token_limit, 1'000'000);
  EXPECT_EQ(open.kv_bytes, 0u);
}

TEST(Admission, TheContextEndsTheAnswer) {
  const Limits limits{.context = 100};
  EXPECT_EQ(grant(90, 500, limits, mixed)->token_limit, 10);
  EXPECT_EQ(grant(90, {}, limits, mixed)->token_limit, 10);
  EXPECT_EQ(grant(99, {}, limits, mixed)->token_limit, 1);
  const auto error = grant(100, 1, limits, mixed).error();
  EXPECT_EQ(error.code, ErrorCode::context_overflow);
  EXPECT_THAT(error.message, AllOf(HasSubstr("100 tokens > 99 maximum"), HasSubstr("context")));
  EXPECT_EQ(error.param, "");
}

TEST(Admission, TheMemoryBudgetEndsItSooner) {
  const Limits limits{.context = 100, .budget = 60};
  EXPECT_EQ(grant(50, 500, limits, mixed)->token_limit, 10);
  EXPECT_EQ(grant(50, 3, limits, mixed)->token_limit, 3);
  const auto error = grant(60, 1, limits, mixed).error();
  EXPECT_EQ(error.code, ErrorCode::context_overflow);
  EXPECT_EQ(error.param, "--memory-budget");
  EXPECT_THAT(error.message, AllOf(HasSubstr("60 tokens > 59 maximum"), HasSubstr("GB")));
  EXPECT_EQ(grant(1, 1, {.budget = 0}, mixed).error().param, "--memory-budget");
}

TEST(Admission, AKvBudgetWantsToKnowHowLongAnAnswerMayBe) {
  const Limits limits{.context = 1000, .kv_budget = kv_bytes(mixed, 80)};
  EXPECT_EQ(grant(60, 20, limits, mixed)->kv_bytes, limits.kv_budget);
  const auto too_long = grant(60, 21, limits, mixed).error();
  EXPECT_EQ(too_long.code, ErrorCode::invalid_request);
  EXPECT_EQ(too_long.param, "max_tokens");
  EXPECT_THAT(too_long.message, HasSubstr("smaller max_tokens"));
  EXPECT_EQ(grant(60, {}, limits, mixed).error().param, "max_tokens");
}

TEST(Admission, ARowJoinsWhereItsBytesFit) {
  EXPECT_TRUE(joins(1'000'000, 1'000'000, 0));
  EXPECT_TRUE(joins(60, 40, 100));
  EXPECT_FALSE(joins(61, 40, 100));
  EXPECT_FALSE(joins(0, 101, 100));
  EXPECT_FALSE(joins(120, 40, 100));
}

}  // namespace
}  // namespace hearth::engine
