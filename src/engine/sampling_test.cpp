#include "engine/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace hearth::engine {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

Sampled run(std::vector<float> logits, const Sampling& s, std::vector<TokenId> history = {},
            std::uint64_t seed = 1, std::uint64_t step = 0) {
  return sample_token(logits, s, history, seed, step);
}

/// Which tokens come out over many steps, and how often.
std::map<TokenId, int> draws(const std::vector<float>& logits, const Sampling& s, int n = 4000) {
  std::map<TokenId, int> counts;
  for (int step = 0; step < n; ++step) ++counts[run(logits, s, {}, 7, step).id];
  return counts;
}

std::vector<TokenId> support(const std::vector<float>& logits, const Sampling& s) {
  std::vector<TokenId> ids;
  for (const auto& [id, count] : draws(logits, s)) ids.push_back(id);
  return ids;
}

const std::vector<float> logs(std::vector<float> probabilities) {
  for (float& p : probabilities) p = std::log(p);
  return probabilities;
}

TEST(Sample, ZeroTemperaturePicksTheLowestOfEqualMaxima) {
  EXPECT_EQ(run({1, 3, 3, 2}, {.temperature = 0}).id, 1);
  EXPECT_EQ(run({-inf, -5, -inf}, {.temperature = 0}).id, 1);
}

TEST(Sample, LogitsThatAreNotNumbersAreReported) {
  const float nan = std::nanf("");
  EXPECT_EQ(run({nan, nan}, {.temperature = 0}).id, -1);
  EXPECT_EQ(run({nan, 1, 2}, {.temperature = 1}).id, -1);
  EXPECT_EQ(run({-inf, -inf}, {.temperature = 1}).id, -1);
}

TEST(Sample, LogprobsAreOfTheWholeVocabularyBeforeTruncation) {
  const auto out = run(logs({0.5, 0.25, 0.25}), {.temperature = 1, .top_k = 1, .top_logprobs = 2});
  EXPECT_EQ(out.id, 0);
  EXPECT_NEAR(out.logprob, std::log(0.5), 1e-6);
  ASSERT_EQ(out.top.size(), 2u);
  EXPECT_EQ(out.top[1].id, 1) << "equal rivals in order of id";
  EXPECT_NEAR(out.top[1].logprob, std::log(0.25), 1e-6);
}

TEST(Sample, GreedyLogprobsStayExactWithoutRivals) {
  const auto out = run(logs({0.2, 0.8}), {.temperature = 0, .top_logprobs = 0});
  EXPECT_EQ(out.id, 1);
  EXPECT_NEAR(out.logprob, std::log(0.8), 1e-6);
  EXPECT_TRUE(out.top.empty());
}

TEST(Sample, BiasComesBeforePenalties) {
  // 1 + 1 = 2, then 2 / 2 = 1: below the 1.5 of token 1.
  const Sampling s{.temperature = 0, .repetition_penalty = 2, .logit_bias = {{0, 1.0f}}};
  EXPECT_EQ(run({1.0f, 1.5f}, s, {0}).id, 1);
}

TEST(Sample, RepetitionDividesPositiveAndMultipliesNegativeLogits) {
  std::vector<float> logits{2, -2, 1};
  const std::vector<TokenId> history{0, 1, 0};
  sample_token(logits, {.temperature = 0, .repetition_penalty = 2, .top_logprobs = -1}, history, 1,
               0);
  EXPECT_THAT(logits, ::testing::ElementsAre(1, -4, 1)) << "once for a token seen twice";
}

TEST(Sample, PresenceCountsOnceAndFrequencyEachTime) {
  std::vector<float> logits{5, 5, 5};
  const std::vector<TokenId> history{0, 0, 1};
  sample_token(logits, {.temperature = 0, .presence_penalty = 1, .frequency_penalty = 0.25f},
               history, 1, 0);
  EXPECT_THAT(logits, ::testing::ElementsAre(3.5f, 3.75f, 5));
}

TEST(Sample, PenaltiesLookBackOverTheirOwnWindow) {
  std::vector<TokenId> history(30, 1);
  history.front() = 0;  // 30 tokens ago
  std::vector<float> logits{5, 5};
  sample_token(logits, {.temperature = 0, .presence_penalty = 1}, history, 1, 0);
  EXPECT_THAT(logits, ::testing::ElementsAre(5, 4)) << "20 by default";
  logits = {5, 5};
  sample_token(logits, {.temperature = 0, .presence_penalty = 1, .presence_context_size = 0},
               history, 1, 0);
  EXPECT_THAT(logits, ::testing::ElementsAre(4, 4)) << "0: all history";
}

TEST(Sample, TopPKeepsTheTokenThatCrossesP) {
  const auto logits = logs({0.5, 0.3, 0.15, 0.05});
  EXPECT_EQ(support(logits, {.temperature = 1, .top_p = 0.5f}), (std::vector<TokenId>{0}));
  EXPECT_EQ(support(logits, {.temperature = 1, .top_p = 0.51f}), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(support(logits, {.temperature = 1, .top_p = 0.9f}), (std::vector<TokenId>{0, 1, 2}));
}

TEST(Sample, TopPKeepsTiesAndHandlesALargeFlatVocabulary) {
  EXPECT_EQ(support(logs({0.4, 0.4, 0.2}), {.temperature = 1, .top_p = 0.3f}),
            (std::vector<TokenId>{0, 1}));
  std::vector<float> logits(5000);
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.01f);
  for (float& x : logits) x = normal(random);
  std::vector<float> sorted = logits;
  std::ranges::sort(sorted, std::greater<>());
  const auto counts = draws(logits, {.temperature = 1, .top_p = 0.5f});
  for (const auto& [id, count] : counts) EXPECT_GE(logits[id], sorted[2600]);
}

TEST(Sample, MinPIsRelativeToTheLikeliest) {
  const auto logits = logs({0.6, 0.3, 0.07, 0.03});
  EXPECT_EQ(support(logits, {.temperature = 1, .min_p = 0.4f}), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(support(logits, {.temperature = 1, .min_p = 0.9f, .min_tokens_to_keep = 3}),
            (std::vector<TokenId>{0, 1, 2}));
}

TEST(Sample, XtcDropsAllAboveTheLeastThatPassesButTheExempt) {
  const auto logits = logs({0.4, 0.3, 0.2, 0.1});
  const Sampling s{.temperature = 1, .xtc_probability = 1, .xtc_threshold = 0.15f};
  EXPECT_EQ(support(logits, s), (std::vector<TokenId>{2, 3}));
  Sampling exempt = s;
  exempt.xtc_exempt = {0};
  EXPECT_EQ(support(logits, exempt), (std::vector<TokenId>{0, 2, 3}));
  Sampling sometimes = s;
  sometimes.xtc_probability = 0.5f;
  EXPECT_EQ(support(logits, sometimes).size(), 4u);
}

TEST(Sample, TopKKeepsK) {
  EXPECT_EQ(support({3, 1, 2, 0}, {.temperature = 1, .top_k = 2}), (std::vector<TokenId>{0, 2}));
  EXPECT_EQ(support({3, 1, 2, 0}, {.temperature = 1, .top_k = 9}).size(), 4u);
}

TEST(Sample, FrequenciesFollowTheTemperedDistribution) {
  const auto counts = draws(logs({0.64, 0.32, 0.04}), {.temperature = 2}, 20000);
  // Square roots of the probabilities, normalised.
  const double total = 0.8 + std::sqrt(0.32) + 0.2;
  EXPECT_NEAR(counts.at(0) / 20000.0, 0.8 / total, 0.02);
  EXPECT_NEAR(counts.at(1) / 20000.0, std::sqrt(0.32) / total, 0.02);
  EXPECT_NEAR(counts.at(2) / 20000.0, 0.2 / total, 0.02);
}

TEST(Sample, RuledOutTokensAreNeverDrawn) {
  std::vector<float> logits(100, -inf);
  logits[42] = logits[43] = 0;
  EXPECT_EQ(support(logits, {.temperature = 5}), (std::vector<TokenId>{42, 43}));
}

TEST(Sample, ASeedAndAStepFixTheDraw) {
  const std::vector<float> logits(1000, 0.0f);
  const Sampling s{.temperature = 1};
  EXPECT_EQ(run(logits, s, {}, 7, 3).id, run(logits, s, {}, 7, 3).id);
  int same = 0;
  for (int step = 0; step < 100; ++step) {
    same += run(logits, s, {}, 7, step).id == run(logits, s, {}, 8, step).id;
  }
  EXPECT_LT(same, 5) << "seeds differ";
}

TEST(Score, TellsAKnownTokenAndTheLikeliest) {
  std::vector<float> logits{std::log(1.0f), std::log(2.0f), std::log(5.0f)};
  ASSERT_TRUE(normalise(logits));
  const auto scored = score_logprobs(logits, 0, 2);
  EXPECT_NEAR(scored.logprob, std::log(1.0 / 8), 1e-6);
  ASSERT_EQ(scored.top.size(), 2u);
  EXPECT_EQ(scored.top[0].id, 2);
  EXPECT_NEAR(scored.top[0].logprob, std::log(5.0 / 8), 1e-6);
  EXPECT_EQ(scored.top[1].id, 1);
  std::vector<float> none{std::nanf(""), 0};
  EXPECT_FALSE(normalise(none));
}

TEST(Sample, RivalsHoldTheirOwnMemoryAlone) {
  // A thousand tokens that wait for a slow reader held 400 MB of a vocabulary of 50,000 words.
  const std::vector<float> logprobs(50'000, -1);
  EXPECT_LE(score_logprobs(logprobs, 0, 20).top.capacity(), 32u);
}

TEST(ProcessLogits, RoundsEveryResultToTheDtypeItIsToldOf) {
  std::vector<float> logits{5, 3};
  const auto to_quarters = [](float x) { return std::round(x * 4) / 4; };
  process_logits(logits, {.repetition_penalty = 1.5f, .logit_bias = {{1, 0.3f}}},
                 std::vector<TokenId>{0}, to_quarters);
  EXPECT_THAT(logits, ::testing::ElementsAre(3.25f, 3.25f)) << "5 / 1.5 and 3 + 0.25";
}

TEST(Validate, NamesTheFieldTheValueAndTheRange) {
  EXPECT_TRUE(validate({}, 10));
  const auto bad = validate({.top_p = 1.5f}, 10);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().param, "top_p");
  EXPECT_EQ(bad.error().message, "top_p is 1.5, expected a number from 0 to 1");
  EXPECT_EQ(validate({.temperature = std::nanf("")}, 10).error().param, "temperature");
  EXPECT_EQ(validate({.temperature = inf}, 10).error().param, "temperature");
  EXPECT_EQ(validate({.logit_bias = {{10, 1.0f}}}, 10).error().param, "logit_bias");
  EXPECT_EQ(validate({.logit_bias = {{-1, 1.0f}}}, 10).error().code, ErrorCode::invalid_request);
  EXPECT_EQ(validate({.top_logprobs = 21}, 10).error().param, "top_logprobs");
}

}  // namespace
}  // namespace hearth::engine
