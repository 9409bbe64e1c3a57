// Answers with hits are the answers without, token for token.
#include "engine/prompt_cache/prompt_cache.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/engine_testing.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

constexpr std::size_t plenty = 64 << 20;

struct Setting {
  const char* name;
  Tier tier;
  int window;
};

std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<TokenId> first(const std::vector<TokenId>& tokens, int count) {
  return {tokens.begin(), tokens.begin() + count};
}

class PromptCacheTest : public testing::TestWithParam<Setting> {
 protected:
  std::unique_ptr<Engine> load(std::size_t cache_bytes, EngineOptions options = {}) {
    options.tier = GetParam().tier;
    options.device = "cpu";
    options.prefill_chunk = 64;
    options.prompt_cache.max_bytes = cache_bytes;
    auto engine = Engine::load(model_.folder(), options);
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
  }

  static GenerateRequest greedy(std::vector<TokenId> prompt, int tokens = 24) {
    return {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .max_tokens = tokens};
  }

  bool fast() const { return GetParam().tier == Tier::fast; }

  TinyModel model_{{.window = GetParam().window, .context_length = 1024}};
};

TEST_P(PromptCacheTest, ASecondTurnPaysForItsNewTokens) {
  const auto cold = load(0), warm = load(plenty);
  const auto prompt = random_prompt(300, 1);
  const auto answer = run(*warm, greedy(prompt, 90));
  EXPECT_EQ(answer.finish.usage.cached_tokens, 0);
  EXPECT_EQ(answer.ids, run(*cold, greedy(prompt, 90)).ids);
  const auto next = joined(joined(prompt, answer.ids), random_prompt(20, 2));
  const auto second = run(*warm, greedy(next));
  EXPECT_EQ(second.ids, run(*cold, greedy(next)).ids);
  EXPECT_EQ(second.finish.usage.cached_tokens, fast() ? 384 : 256);
  const auto stats = warm->stats().prompt_cache;
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.misses, 1u);
  EXPECT_EQ(stats.hit_tokens, std::uint64_t(second.finish.usage.cached_tokens));
  EXPECT_GT(stats.entries, 0u);
  EXPECT_LE(stats.bytes, stats.max_bytes);
}

TEST_P(PromptCacheTest, TheSamePromptAgainIsTakenButForItsEnd) {
  const auto cold = load(0), warm = load(plenty);
  for (const int length : {1, 2, 63, 64, 65, 128, 129, 200}) {
    SCOPED_TRACE(length);
    const auto prompt = random_prompt(length, unsigned(length));
    const auto once = run(*warm, greedy(prompt));
    const auto again = run(*warm, greedy(prompt));
    EXPECT_EQ(once.ids, run(*cold, greedy(prompt)).ids);
    EXPECT_EQ(again.ids, once.ids);
    EXPECT_EQ(again.finish.usage.cached_tokens, fast() ? (length - 1) / 64 * 64 : length - 1);
  }
}

TEST_P(PromptCacheTest, ForksOfAConversationShareWhatCameBefore) {
  const auto cold = load(0), warm = load(plenty);
  const auto common = random_prompt(400, 1);
  run(*warm, greedy(common));
  for (const int at : {10, 64, 130, 255, 256, 399}) {
    SCOPED_TRACE(at);
    const auto fork = joined(first(common, at), random_prompt(60, unsigned(at)));
    const auto answer = run(*warm, greedy(fork));
    EXPECT_EQ(answer.ids, run(*cold, greedy(fork)).ids);
    EXPECT_EQ(answer.finish.usage.cached_tokens, at / 64 * 64);
  }
}

TEST_P(PromptCacheTest, LogProbabilitiesAreTheSameBits) {
  const auto cold = load(0), warm = load(plenty);
  const auto prompt = random_prompt(200, 3);
  run(*warm, greedy(prompt));
  auto request = greedy(joined(first(prompt, 190), random_prompt(40, 4)), 8);
  request.sampling.top_logprobs = 5;
  const auto taken = run(*warm, request), computed = run(*cold, request);
  EXPECT_GT(taken.finish.usage.cached_tokens, 0);
  ASSERT_EQ(taken.sampled.size(), computed.sampled.size());
  for (std::size_t i = 0; i < taken.sampled.size(); ++i) {
    EXPECT_EQ(taken.sampled[i].logprob, computed.sampled[i].logprob) << i;
    EXPECT_EQ(taken.sampled[i].top, computed.sampled[i].top) << i;
  }
}

TEST_P(PromptCacheTest, RowsBehindOneWithTheSameBeginningTakeItFromIt) {
  const auto cold = load(0), warm = load(plenty, {.step_tokens = 64});
  const auto common = random_prompt(320, 1);
  std::vector<std::vector<TokenId>> prompts;
  for (unsigned i = 0; i < 4; ++i) prompts.push_back(joined(common, random_prompt(30, 10 + i)));
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const auto& prompt : prompts) streams.push_back(*warm->submit(greedy(prompt)));
  int cached = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto answer = read(*streams[i]);
    EXPECT_EQ(answer.ids, run(*cold, greedy(prompts[i])).ids) << i;
    cached += answer.finish.usage.cached_tokens;
  }
  EXPECT_GE(cached, 2 * 256);
}

TEST_P(PromptCacheTest, WhatACancelledRowComputedIsKept) {
  const auto cold = load(0), warm = load(plenty);
  const auto prompt = random_prompt(200, 1);
  auto stream = *warm->submit(greedy(prompt, 800));
  stream->pop();
  stream->cancel();
  const auto cut = read(*stream);
  EXPECT_EQ(cut.finish.reason, FinishReason::cancelled);
  const auto answer = run(*warm, greedy(prompt));
  EXPECT_EQ(answer.finish.usage.cached_tokens, fast() ? 192 : 199);
  EXPECT_EQ(answer.ids, run(*cold, greedy(prompt)).ids);
}

TEST_P(PromptCacheTest, ScopesNeverMeet) {
  const auto warm = load(plenty);
  auto request = greedy(random_prompt(200, 1));
  run(*warm, request);
  request.cache_scope = "adapter 1f2e";
  EXPECT_EQ(run(*warm, request).finish.usage.cached_tokens, 0);
  EXPECT_GT(run(*warm, request).finish.usage.cached_tokens, 0);
}

TEST_P(PromptCacheTest, ScoredPromptsAreComputed) {
  const auto warm = load(plenty);
  const auto prompt = random_prompt(200, 1);
  run(*warm, greedy(prompt));
  auto request = greedy(prompt, 1);
  request.score_prompt = true;
  EXPECT_EQ(run(*warm, request).finish.usage.cached_tokens, 0);
}

TEST_P(PromptCacheTest, ASmallBudgetHoldsAndAnswersStayRight) {
  const auto cold = load(0), warm = load(300'000);
  for (unsigned round = 0; round < 12; ++round) {
    const auto prompt = joined(random_prompt(150, round % 4), random_prompt(100, round));
    EXPECT_EQ(run(*warm, greedy(prompt)).ids, run(*cold, greedy(prompt)).ids) << round;
    const auto stats = warm->stats().prompt_cache;
    EXPECT_LE(stats.bytes, 300'000u);
  }
  EXPECT_GT(warm->stats().prompt_cache.evicted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Settings, PromptCacheTest,
                         testing::Values(Setting{"fast", Tier::fast, 0}, Setting{"l1", Tier::l1, 0},
                                         Setting{"fast_windows", Tier::fast, 70},
                                         Setting{"l1_windows", Tier::l1, 70}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hearth::engine
