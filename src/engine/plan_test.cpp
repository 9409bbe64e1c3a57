#include "engine/plan.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace hearth::engine {
namespace {

TEST(PlanStep, ALongPromptNeverStallsAStream) {
  const Candidate candidates[] = {
      {.id = 1, .pending_tokens = 4000, .decoding = false},
      {.id = 2, .pending_tokens = 1, .decoding = true},
  };
  EXPECT_EQ(plan_step(candidates, 512), (std::vector<Row>{{2, 1}, {1, 511}}));
}

TEST(PlanStep, PromptsShareTheBudgetInArrivalOrder) {
  const Candidate candidates[] = {
      {.id = 1, .pending_tokens = 100, .decoding = false},
      {.id = 2, .pending_tokens = 700, .decoding = false},
      {.id = 3, .pending_tokens = 5, .decoding = false},
  };
  EXPECT_EQ(plan_step(candidates, 512), (std::vector<Row>{{1, 100}, {2, 412}}));
}

TEST(PlanStep, NothingToDoIsAnEmptyPlan) { EXPECT_TRUE(plan_step({}, 512).empty()); }

TEST(PlanStep, TokensNeverExceedTheBudgetNorARowsNeed) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<Candidate> candidates;
    for (std::uint64_t id = 0; id < random() % 20; ++id) {
      const bool decoding = random() % 2;
      candidates.push_back({id, decoding ? 1 : 1 + int(random() % 900), decoding});
    }
    const int budget = 1 + int(random() % 600);
    int total = 0;
    for (const auto& row : plan_step(candidates, budget)) {
      EXPECT_GT(row.tokens, 0);
      EXPECT_LE(row.tokens, candidates[row.id].pending_tokens);
      total += row.tokens;
    }
    EXPECT_LE(total, budget);
    const int wanted = std::accumulate(candidates.begin(), candidates.end(), 0,
                                       [](int sum, auto& c) { return sum + c.pending_tokens; });
    EXPECT_EQ(total, std::min(wanted, budget)) << "no capacity is left unused";
  }
}

TEST(PlanL1Step, APromptIsDrainedToItsLastTokenInChunks) {
  std::vector<int> sizes;
  for (int pending = 4100; pending > 0;) {
    const Candidate candidates[] = {{.id = 1, .pending_tokens = pending, .decoding = false}};
    const auto rows = plan_l1_step(candidates, 2048);
    ASSERT_EQ(rows.size(), 1u);
    sizes.push_back(rows[0].tokens);
    pending -= rows[0].tokens;
  }
  EXPECT_EQ(sizes, (std::vector<int>{2048, 2048, 3, 1}));
}

TEST(PlanL1Step, OnePromptAtATimeBesideEveryDecodingRow) {
  const Candidate candidates[] = {
      {.id = 1, .pending_tokens = 1, .decoding = true},
      {.id = 2, .pending_tokens = 10, .decoding = false},
      {.id = 3, .pending_tokens = 1, .decoding = true},
      {.id = 4, .pending_tokens = 10, .decoding = false},
  };
  EXPECT_EQ(plan_l1_step(candidates, 2048), (std::vector<Row>{{1, 1}, {3, 1}, {2, 9}}));
}

}  // namespace
}  // namespace hearth::engine
