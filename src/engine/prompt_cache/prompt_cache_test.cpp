// Answers with hits are the answers without, token for token.
#include "engine/prompt_cache/prompt_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "engine/engine_testing.h"
#include "engine/prompt_cache/testing.h"
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

  static GenerateRequest greedy(std::vector<TokenId> prompt, int tokens = 5) {
    return {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .max_tokens = tokens};
  }

  /// The plain graph is slow: it runs every second one.
  std::vector<int> lengths(std::vector<int> all) const {
    std::vector<int> some;
    for (std::size_t i = 0; i < all.size(); i += fast() ? 1 : 2) some.push_back(all[i]);
    return some;
  }

  bool fast() const { return GetParam().tier == Tier::fast; }

  TinyModel model_{{.window = GetParam().window, .context_length = 1024}};
};

TEST_P(PromptCacheTest, ASecondTurnPaysForItsNewTokens) {
  const auto cold = load(0), warm = load(plenty);
  const auto prompt = random_prompt(300, 1);
  const int length = fast() ? 90 : 10;
  const auto answer = run(*warm, greedy(prompt, length));
  EXPECT_EQ(answer.finish.usage.cached_tokens, 0);
  EXPECT_EQ(answer.ids, run(*cold, greedy(prompt, length)).ids);
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
  for (const int length : lengths({1, 2, 63, 64, 65, 128, 129, 200})) {
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
  for (const int at : lengths({10, 130, 64, 255, 256, 399})) {
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
  for (unsigned i = 0; i < 3; ++i) prompts.push_back(joined(common, random_prompt(30, 10 + i)));
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const auto& prompt : prompts) streams.push_back(*warm->submit(greedy(prompt)));
  int cached = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto answer = read(*streams[i]);
    EXPECT_EQ(answer.ids, run(*cold, greedy(prompts[i])).ids) << i;
    cached += answer.finish.usage.cached_tokens;
  }
  EXPECT_GE(cached, 256 + 192);
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
  for (unsigned round = 0; round < (fast() ? 12u : 5u); ++round) {
    const auto prompt = joined(random_prompt(150, round % 4), random_prompt(100, round));
    EXPECT_EQ(run(*warm, greedy(prompt)).ids, run(*cold, greedy(prompt)).ids) << round;
    const auto stats = warm->stats().prompt_cache;
    EXPECT_LE(stats.bytes, 300'000u);
  }
  EXPECT_GT(warm->stats().prompt_cache.evicted, 0u);
}

TEST_P(PromptCacheTest, ARestartedEngineGoesOnFromItsFiles) {
  const auto cold = load(0);
  const auto prompt = random_prompt(300, 1);
  TestFolder folder;
  EngineOptions options;
  options.prompt_cache.disk = folder.path;
  int expected = 0;
  {
    const auto warm = load(plenty, options);
    run(*warm, greedy(prompt));
    expected = run(*warm, greedy(prompt)).finish.usage.cached_tokens;
    const auto report = warm->flush_cache(std::chrono::seconds(20));
    EXPECT_TRUE(report.durable);
    EXPECT_EQ(report.missing, 0u);
    EXPECT_GT(warm->stats().ssd_cache.spills, 0u);
  }
  const auto warm = load(plenty, options);
  const auto answer = run(*warm, greedy(prompt));
  EXPECT_EQ(answer.finish.usage.cached_tokens, expected);
  EXPECT_EQ(answer.ids, run(*cold, greedy(prompt)).ids);
  EXPECT_EQ(warm->stats().ssd_cache.restores, 1u);
  const auto fork = joined(first(prompt, 200), random_prompt(50, 2));
  const auto forked = run(*warm, greedy(fork));
  // Files have a window's pages where prompts and answers ended.
  EXPECT_EQ(forked.finish.usage.cached_tokens, GetParam().window == 0 ? 192 : 0);
  EXPECT_EQ(forked.ids, run(*cold, greedy(fork)).ids);
}

TEST_P(PromptCacheTest, BrokenFilesAreComputedAgain) {
  const auto cold = load(0);
  const auto prompt = random_prompt(300, 1);
  TestFolder folder;
  EngineOptions options;
  options.prompt_cache.disk = folder.path;
  run(*load(plenty, options), greedy(prompt));  // the end of the engine writes what waits
  std::size_t broken = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path)) {
    if (entry.path().extension() != ".hkv") continue;
    auto bytes = *read_file(entry.path());
    bytes[bytes.size() - 1 - broken++ % 100] ^= 16;
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  ASSERT_GT(broken, 0u);
  const auto warm = load(plenty, options);
  const auto answer = run(*warm, greedy(prompt));
  EXPECT_EQ(answer.ids, run(*cold, greedy(prompt)).ids);
  EXPECT_EQ(answer.finish.usage.cached_tokens, 0);
  EXPECT_EQ(warm->stats().ssd_cache.bad_files, 1u);  // what follows a broken one is not read
}

TEST_P(PromptCacheTest, AnotherModelsFilesAreNotTaken) {
  TestFolder folder;
  EngineOptions options;
  options.prompt_cache.disk = folder.path;
  const auto prompt = random_prompt(200, 1);
  run(*load(plenty, options), greedy(prompt));
  const auto weights = model_.folder() / "model.safetensors";
  fs::last_write_time(weights, fs::last_write_time(weights) + std::chrono::seconds(1));
  EXPECT_EQ(run(*load(plenty, options), greedy(prompt)).finish.usage.cached_tokens, 0);
  EXPECT_GT(run(*load(plenty, options), greedy(prompt)).finish.usage.cached_tokens, 0);
}

TEST_P(PromptCacheTest, WhatLeavesASmallMemoryComesBackFromFiles) {
  const auto cold = load(0);
  TestFolder folder;
  EngineOptions options;
  options.prompt_cache.disk = folder.path;
  const auto warm = load(200'000, options);
  std::vector<std::vector<TokenId>> prompts;
  for (unsigned i = 0; i < 4; ++i) prompts.push_back(random_prompt(260, i));
  for (const auto& prompt : prompts) run(*warm, greedy(prompt, 4));
  ASSERT_TRUE(warm->flush_cache(std::chrono::seconds(20)).durable);
  for (const auto& prompt : prompts) {
    const auto answer = run(*warm, greedy(prompt, 4));
    EXPECT_EQ(answer.ids, run(*cold, greedy(prompt, 4)).ids);
    EXPECT_GE(answer.finish.usage.cached_tokens, 192);
    EXPECT_LE(warm->stats().prompt_cache.bytes, 200'000u);
  }
  EXPECT_GT(warm->stats().ssd_cache.restores, 0u);
}

INSTANTIATE_TEST_SUITE_P(Settings, PromptCacheTest,
                         testing::Values(Setting{"fast", Tier::fast, 0}, Setting{"l1", Tier::l1, 0},
                                         Setting{"fast_windows", Tier::fast, 70},
                                         Setting{"l1_windows", Tier::l1, 70}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hearth::engine
