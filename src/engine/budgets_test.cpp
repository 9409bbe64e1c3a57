// Budgets, the end of the context and work that runs alone, through a whole engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/engine.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

constexpr std::size_t token_bytes = 2 * 2 * 2 * 16 * 2;  // layers, K and V, heads, numbers, f16
constexpr std::size_t step_token_bytes = 550'000;

class BudgetsTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> load(EngineOptions options) {
    options.device = "cpu";
    auto engine = Engine::load(model_.folder(), options);
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
  }

  static GenerateRequest request(int prompt, std::optional<int> max_tokens) {
    return {.prompt = std::vector<TokenId>(std::size_t(prompt), 5),
            .sampling = {.temperature = 0},
            .max_tokens = max_tokens};
  }

  static Finish finish_of(TokenStream& stream) {
    for (;;) {
      auto item = stream.pop();
      if (auto* finish = std::get_if<Finish>(&item)) return std::move(*finish);
    }
  }

  TinyModel model_;
};

TEST_F(BudgetsTest, RowsWaitUntilTheirKeysAndValuesFit) {
  const auto engine = load({.kv_budget = 150 * token_bytes});
  auto first = *engine->submit(request(20, 80));
  auto second = *engine->submit(request(30, 70));  // would fit alone
  auto third = *engine->submit(request(1, 1));     // would fit beside the first, but passes nobody
  std::atomic<bool> over = false;
  std::jthread watch([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      const auto stats = engine->stats();
      if (stats.kv_projected_bytes > stats.kv_budget_bytes) over = true;
      std::this_thread::yield();
    }
  });
  const auto one = finish_of(*first), two = finish_of(*second), three = finish_of(*third);
  EXPECT_EQ(one.usage.completion_tokens, 80);
  EXPECT_EQ(two.usage.completion_tokens, 70);
  EXPECT_GE(two.usage.queue_seconds, one.usage.decode_seconds);
  EXPECT_GE(three.usage.queue_seconds, one.usage.decode_seconds);
  EXPECT_FALSE(over);
  EXPECT_TRUE(engine->wait_idle(std::chrono::seconds(5)));
  EXPECT_EQ(engine->stats().kv_projected_bytes, 0u);
}

TEST_F(BudgetsTest, ARowThatNeverFitsIsRefused) {
  const auto engine = load({.kv_budget = 100 * token_bytes});
  const auto error = engine->submit(request(50, 51)).error();
  EXPECT_EQ(error.code, ErrorCode::invalid_request);
  EXPECT_EQ(error.param, "max_tokens");
  EXPECT_EQ(engine->submit(request(5, {})).error().param, "max_tokens");
  EXPECT_EQ(finish_of(**engine->submit(request(50, 50))).usage.completion_tokens, 50);
}

TEST_F(BudgetsTest, TheMemoryBudgetLeavesRoomForSoManyTokens) {
  const std::size_t weights = load({})->info().weight_bytes;
  const auto engine =
      load({.step_tokens = 8, .memory_budget = weights + 8 * step_token_bytes + 100 * token_bytes});
  EXPECT_EQ(engine->stats().safe_context, 100);
  EXPECT_EQ(engine->stats().enforced_context, 100);
  const auto error = engine->submit(request(100, 1)).error();
  EXPECT_EQ(error.code, ErrorCode::context_overflow);
  EXPECT_EQ(error.param, "--memory-budget");
  const auto finish = finish_of(**engine->submit(request(60, 200)));
  EXPECT_EQ(finish.usage.completion_tokens, 40);
  EXPECT_EQ(finish.reason, FinishReason::length);
}

TEST_F(BudgetsTest, WithoutABudgetTheEstimateIsAdvice) {
  const auto engine = load({});
  EXPECT_EQ(engine->stats().safe_context, TinyModel::context_length);
  EXPECT_EQ(engine->stats().memory_budget_bytes, 0u);
  EXPECT_EQ(engine->stats().enforced_context, TinyModel::context_length);
}

TEST_F(BudgetsTest, AnAttemptGoesBeyondTheContext) {
  const auto engine = load({.attempt_overflow = true});
  const auto finish = finish_of(**engine->submit(request(TinyModel::context_length, 20)));
  EXPECT_EQ(finish.usage.completion_tokens, 20);
  EXPECT_EQ(engine->stats().enforced_context, 0);
}

TEST_F(BudgetsTest, LoneWorkTakesItsTurn) {
  const auto engine = load({});
  auto before = *engine->submit(request(10, 60));
  auto also = *engine->submit(request(10, 40));
  std::shared_ptr<TokenStream> after;
  std::atomic<bool> submitted = false;
  int active = 0;
  bool early = false;
  auto ran = engine->run_alone([&](const models::Model&) -> Result<void> {
    while (!submitted) std::this_thread::yield();
    active = engine->stats().active_rows;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    early = after->try_pop().has_value();
    return {};
  });
  after = *engine->submit(request(10, 5));
  submitted = true;
  ASSERT_TRUE(ran.get());
  EXPECT_EQ(active, 1);  // itself
  EXPECT_FALSE(early);
  EXPECT_EQ(finish_of(*before).usage.completion_tokens, 60);
  EXPECT_EQ(finish_of(*also).usage.completion_tokens, 40);
  EXPECT_EQ(finish_of(*after).usage.completion_tokens, 5);
}

TEST_F(BudgetsTest, LoneWorkFailsForItselfAlone) {
  auto engine = load({});
  const auto thrown =
      engine->run_alone([](const models::Model&) -> Result<void> { throw std::bad_alloc(); }).get();
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, ErrorCode::internal);
  const auto told = engine
                        ->run_alone([](const models::Model&) -> Result<void> {
                          return fail(ErrorCode::unsupported, "not here");
                        })
                        .get();
  EXPECT_EQ(told.error().message, "not here");
  EXPECT_EQ(finish_of(**engine->submit(request(3, 4))).usage.completion_tokens, 4);
  auto running = *engine->submit(request(1, 250));
  auto never = engine->run_alone([](const models::Model&) -> Result<void> { return {}; });
  engine.reset();
  const auto outcome = never.get();
  EXPECT_TRUE(outcome || outcome.error().code == ErrorCode::cancelled);
}

TEST_F(BudgetsTest, WhatOtherModelsWeighLeavesLessRoomForAnswers) {
  const auto weights = load({})->info().weight_bytes;
  const auto engine = load({.memory_budget = weights + 512 * step_token_bytes + 200 * token_bytes});
  const auto alone = engine->stats();
  EXPECT_GT(alone.enforced_context, 150);
  engine->share({.engines = 2, .others = 512 * step_token_bytes});
  const auto beside = engine->stats();
  EXPECT_EQ(beside.safe_context, beside.enforced_context);
  EXPECT_LT(beside.enforced_context, 50);
  EXPECT_EQ(engine->submit(request(150, 1)).error().code, ErrorCode::context_overflow);
  engine->share({.engines = 1, .others = 0});
  EXPECT_EQ(engine->stats().enforced_context, alone.enforced_context);
  EXPECT_TRUE(engine->submit(request(150, 1)));
}

TEST_F(BudgetsTest, PromptCachesDivideTheirMemory) {
  EngineOptions options;
  options.prompt_cache.max_bytes = 10 << 20;
  const auto engine = load(options);
  finish_of(**engine->submit(request(200, 1)));
  EXPECT_GT(engine->stats().prompt_cache.entries, 0u);
  engine->share({.engines = 4, .others = 0});
  EXPECT_EQ(engine->stats().prompt_cache.max_bytes, std::size_t(10 << 20) / 4);
  engine->share({.engines = 1 << 20, .others = 0});
  EXPECT_EQ(engine->stats().prompt_cache.entries, 0u);
  engine->share({.engines = 1, .others = 0});
  EXPECT_EQ(engine->stats().prompt_cache.max_bytes, std::size_t(10 << 20));
}

TEST_F(BudgetsTest, KeysAndValuesThatRowsShareAreCountedOnce) {
  EngineOptions options;
  options.prompt_cache.max_bytes = 10 << 20;
  const auto engine = load(options);
  const auto bytes_while = [&](int rows) {
    std::vector<std::shared_ptr<TokenStream>> streams;
    for (int i = 0; i < rows; ++i) {
      streams.push_back(*engine->submit(request(193, 60)));
      streams.back()->pop();  // its prompt is read
    }
    const auto bytes = engine->stats().kv_bytes;
    for (auto& stream : streams) finish_of(*stream);
    return bytes;
  };
  const auto page = 64 * token_bytes;
  EXPECT_EQ(bytes_while(1), 4 * page);
  const auto three = bytes_while(3);  // three pages of the prompt, and one of each row's own
  EXPECT_GE(three, 4 * page);
  EXPECT_LE(three, 6 * page);
}

TEST_F(BudgetsTest, AContextOfOnesOwnEndsAnswersWhateverTheModelHas) {
  const auto engine = load({.context = 50, .attempt_overflow = true});
  EXPECT_EQ(engine->info().context_length, 50);
  EXPECT_EQ(engine->submit(request(50, 1)).error().code, ErrorCode::context_overflow);
  const auto finish = finish_of(**engine->submit(request(20, std::nullopt)));
  EXPECT_EQ(finish.reason, FinishReason::length);
  EXPECT_EQ(finish.usage.completion_tokens, 30);
  EXPECT_EQ(load({.context = 1 << 20})->info().context_length, TinyModel::context_length);
}

}  // namespace
}  // namespace hearth::engine
