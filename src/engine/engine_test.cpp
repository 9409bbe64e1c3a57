#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "engine/engine_testing.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

using ::testing::HasSubstr;

GenerateRequest request(std::vector<TokenId> prompt, int max_tokens, Sampling sampling = {}) {
  return {.prompt = std::move(prompt), .sampling = std::move(sampling), .max_tokens = max_tokens};
}

class EngineTest : public ::testing::TestWithParam<Tier> {
 protected:
  std::unique_ptr<Engine> load(EngineOptions options = {}) {
    options.tier = GetParam();
    options.device = "cpu";
    auto engine = Engine::load(model_.folder(), options);
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
  }

  TinyModel model_;
};

TEST_P(EngineTest, KnowsItsModel) {
  const auto engine = load();
  EXPECT_EQ(engine->info().model_type, "llama");
  EXPECT_EQ(engine->info().vocab_size, TinyModel::vocab_size);
  EXPECT_EQ(engine->info().context_length, TinyModel::context_length);
  EXPECT_EQ(engine->info().quantization, "float32");
  EXPECT_EQ(engine->info().global_layers, 2);
  EXPECT_EQ(engine->info().sliding_layers, 0);
  EXPECT_GT(engine->info().kv_token_size, 0u);
}

TEST_P(EngineTest, EndsAtMaxTokensWithEveryTokenDelivered) {
  const auto engine = load();
  const auto answer = run(*engine, request({1, 2, 3}, 5));
  EXPECT_EQ(answer.ids.size(), 5u);
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_EQ(answer.finish.usage.prompt_tokens, 3);
  EXPECT_EQ(answer.finish.usage.completion_tokens, 5);
}

TEST_P(EngineTest, AStopIdEndsTheTurnUndelivered) {
  const auto engine = load();
  const auto free = run(*engine, request({1, 2, 3}, 8, {.temperature = 0}));
  auto stopped = request({1, 2, 3}, 8, {.temperature = 0});
  stopped.stop_ids = {free.ids[3]};
  const auto answer = run(*engine, std::move(stopped));
  const auto first = std::ranges::find(free.ids, free.ids[3]);
  EXPECT_EQ(answer.ids, std::vector<TokenId>(free.ids.begin(), first));
  EXPECT_EQ(answer.finish.reason, FinishReason::stop);
  EXPECT_EQ(answer.finish.stop_id, free.ids[3]);
}

TEST_P(EngineTest, RunsToTheEndOfTheContext) {
  const auto engine = load();
  GenerateRequest open{.prompt = random_prompt(200, 1)};
  const auto answer = run(*engine, std::move(open));
  EXPECT_EQ(answer.ids.size(), 56u);
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
}

TEST_P(EngineTest, ASeedFixesTheAnswerAndNoSeedDoesNot) {
  const auto engine = load();
  const Sampling seeded{.temperature = 1, .seed = 7};
  const auto once = run(*engine, request({4, 5}, 30, seeded));
  EXPECT_EQ(run(*engine, request({4, 5}, 30, seeded)).ids, once.ids);
  const auto a = run(*engine, request({4, 5}, 30, {.temperature = 1}));
  const auto b = run(*engine, request({4, 5}, 30, {.temperature = 1}));
  EXPECT_NE(a.ids, b.ids);
}

TEST_P(EngineTest, ARowsTokensDoNotDependOnItsNeighbours) {
  const auto engine = load({.max_rows = 16, .prefill_chunk = 32, .step_tokens = 48});
  std::vector<GenerateRequest> requests;
  for (unsigned i = 0; i < 16; ++i) {
    requests.push_back(request(random_prompt(1 + 11 * i, i), 12 + i,
                               {.temperature = i % 2 ? 1.0f : 0.0f, .seed = i}));
  }
  std::vector<std::vector<TokenId>> alone;
  for (const auto& one : requests) alone.push_back(run(*engine, one).ids);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const auto& one : requests) streams.push_back(*engine->submit(one));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(read(*streams[i]).ids, alone[i]) << "row " << i;
  }
}

TEST_P(EngineTest, APromptIsScoredAsItWouldHaveBeenSampled) {
  const auto engine = load({.prefill_chunk = 64, .step_tokens = 48});
  const auto prompt = random_prompt(150, 5);
  auto stream = *engine->submit(request(prompt, 40, {.temperature = 0, .top_logprobs = 2}));
  auto whole = prompt;
  std::vector<Sampled> sampled;
  for (auto item = stream->pop(); !std::holds_alternative<Finish>(item); item = stream->pop()) {
    sampled.push_back(std::get<Sampled>(item));
    whole.push_back(sampled.back().id);
  }
  auto scoring = request(whole, 1, {.top_logprobs = 2});
  scoring.score_prompt = true;
  stream = *engine->submit(std::move(scoring));
  const auto first = stream->pop();
  const auto& scores = std::get<ScoredPrompt>(first).tokens;
  EXPECT_TRUE(std::holds_alternative<Sampled>(stream->pop()));
  ASSERT_EQ(scores.size(), whole.size());
  EXPECT_TRUE(std::isnan(scores[0].logprob));
  EXPECT_TRUE(scores[0].top.empty());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(scores[i].id, whole[i]);
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const auto& score = scores[prompt.size() + i];
    EXPECT_NEAR(score.logprob, sampled[i].logprob, 2e-3) << "token " << i;
    ASSERT_EQ(score.top.size(), 2u);
    EXPECT_NEAR(score.top[0].logprob, sampled[i].top[0].logprob, 2e-3);
  }
}

TEST_P(EngineTest, APromptOfOneTokenHasNothingToScore) {
  const auto engine = load();
  auto scoring = request({7}, 1, {.top_logprobs = 1});
  scoring.score_prompt = true;
  const auto stream = *engine->submit(std::move(scoring));
  const auto first = stream->pop();
  EXPECT_EQ(std::get<ScoredPrompt>(first).tokens.size(), 1u);
}

TEST_P(EngineTest, TheTimeUntilAdmissionIsTold) {
  const auto engine = load({.max_rows = 1});
  auto running = *engine->submit(request(random_prompt(100, 1), 60));
  auto waiting = *engine->submit(request({1, 2}, 1));
  const auto before = read(*running).finish.usage;
  const auto usage = read(*waiting).finish.usage;
  EXPECT_LT(before.queue_seconds, usage.queue_seconds);
  EXPECT_GT(usage.queue_seconds, before.decode_seconds / 2);
  EXPECT_GT(usage.prefill_seconds, 0);
  EXPECT_EQ(engine->stats().max_rows, 1);
}

TEST_P(EngineTest, RandomJoinsAndCancellationsLeaveNothingBehind) {
  const auto engine = load({.max_rows = 4, .step_tokens = 24});
  std::mt19937 random(11);
  const auto expected = run(*engine, request(random_prompt(40, 3), 20, {.temperature = 0})).ids;
  std::vector<std::jthread> clients;
  for (unsigned client = 0; client < 3; ++client) {
    clients.emplace_back([&engine, client] {
      std::mt19937 random(client);
      for (int round = 0; round < 12; ++round) {
        auto stream = *engine->submit(request(random_prompt(1 + random() % 60, round), 40));
        const int reads = random() % 10;
        for (int i = 0; i < reads; ++i) stream->pop();
        stream->cancel();
        EXPECT_THAT(read(*stream).finish.reason,
                    ::testing::AnyOf(FinishReason::cancelled, FinishReason::length));
      }
    });
  }
  for (int round = 0; round < 6; ++round) {
    EXPECT_EQ(run(*engine, request(random_prompt(40, 3), 20, {.temperature = 0})).ids, expected);
  }
  clients.clear();
  EXPECT_TRUE(engine->wait_idle(std::chrono::seconds(5)));
  const auto stats = engine->stats();
  EXPECT_EQ(stats.active_rows, 0);
  EXPECT_EQ(stats.waiting, 0);
  EXPECT_EQ(stats.submitted, stats.finished + stats.cancelled);
}

TEST_P(EngineTest, RefusesWhatItCannotRun) {
  const auto engine = load();
  const auto error = [&](GenerateRequest bad) { return engine->submit(std::move(bad)).error(); };
  EXPECT_EQ(error(request({}, 5)).code, ErrorCode::invalid_request);
  EXPECT_THAT(error(request({TinyModel::vocab_size}, 5)).message, HasSubstr("vocabulary of 96"));
  EXPECT_EQ(error(request({-1}, 5)).code, ErrorCode::invalid_request);
  const auto overflow = error(request(random_prompt(256, 1), 5));
  EXPECT_EQ(overflow.code, ErrorCode::context_overflow);
  EXPECT_THAT(overflow.message, HasSubstr("256 tokens"));
  EXPECT_EQ(error(request({1}, 0)).param, "max_tokens");
  EXPECT_EQ(error(request({1}, 5, {.top_p = 2})).param, "top_p");
}

TEST_P(EngineTest, AFullQueueRefusesAndServesTheRest) {
  const auto engine = load({.max_rows = 1, .max_waiting = 2});
  std::vector<std::shared_ptr<TokenStream>> admitted;
  int refused = 0;
  for (int i = 0; i < 12; ++i) {
    auto stream = engine->submit(request(random_prompt(20, i), 100));
    if (stream) {
      admitted.push_back(*stream);
    } else {
      EXPECT_EQ(stream.error().code, ErrorCode::overloaded);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  for (auto& stream : admitted) EXPECT_EQ(read(*stream).finish.reason, FinishReason::length);
}

TEST_P(EngineTest, AStreamGetsATokenInEveryStepOfALongPrompt) {
  constexpr int prompt = 1500, chunk = 128;
  const TinyModel model({.context_length = 2048});
  const auto loaded = Engine::load(
      model.folder(),
      {.tier = GetParam(), .device = "cpu", .prefill_chunk = chunk, .step_tokens = chunk});
  Engine& engine = **loaded;
  const auto running = *engine.submit(request({1}, 2000));
  running->pop();
  const auto before = engine.stats().steps;
  const auto answer = run(engine, request(random_prompt(prompt, 1), 1));
  const auto after = engine.stats().steps;
  running->cancel();
  const auto tokens = read(*running).finish.usage.completion_tokens;
  EXPECT_EQ(answer.ids.size(), 1u);
  EXPECT_GE(after - before, std::uint64_t(prompt / chunk));  // a step is a chunk at most
  EXPECT_GE(tokens, int(after));
}

TEST_P(EngineTest, DestructionCancelsWhatRuns) {
  auto engine = load({.max_rows = 1});
  auto running = *engine->submit(request({1}, 250));
  auto waiting = *engine->submit(request({2}, 250));
  engine.reset();
  EXPECT_THAT(read(*running).finish.reason,
              ::testing::AnyOf(FinishReason::cancelled, FinishReason::length));
  EXPECT_THAT(read(*waiting).finish.reason,
              ::testing::AnyOf(FinishReason::cancelled, FinishReason::length));
}

INSTANTIATE_TEST_SUITE_P(Tiers, EngineTest, ::testing::Values(Tier::fast, Tier::l1),
                         [](const auto& info) { return info.param == Tier::l1 ? "l1" : "fast"; });

/// Changes config.json of a fresh tiny model and loads it.
Error load_error(const Json& changes) {
  const TinyModel model;
  Json config = *read_json_file(model.folder() / "config.json");
  config.merge_patch(changes);
  EXPECT_TRUE(write_file(model.folder() / "config.json", config.dump()));
  auto engine = Engine::load(model.folder(), {.device = "cpu"});
  return engine ? Error{} : engine.error();
}

TEST(EngineLoad, SaysWhatIsWrongWithAModel) {
  const auto unknown = load_error({{"model_type", "llamma"}});
  EXPECT_EQ(unknown.code, ErrorCode::unsupported);
  EXPECT_THAT(unknown.message, ::testing::AllOf(HasSubstr("\"llamma\""), HasSubstr("qwen3")));
  EXPECT_THAT(load_error({{"intermediate_size", 128}}).message,
              HasSubstr("mlp.gate_proj.weight is [96, 64], expected [128, 64]"));
  EXPECT_THAT(load_error({{"num_hidden_layers", 3}}).message,
              HasSubstr("model.layers.2.self_attn.q_proj.weight is missing"));
  EXPECT_THAT(load_error({{"num_hidden_layers", 1}}).message, HasSubstr("have no place"));
  EXPECT_THAT(load_error({{"hidden_size", "64"}}).message, HasSubstr("expected an integer"));
  EXPECT_THAT(load_error({{"hidden_size", 0}}).message, HasSubstr("hidden_size"));
  EXPECT_THAT(load_error({{"num_key_value_heads", 3}}).message, HasSubstr("multiple"));
  EXPECT_THAT(load_error({{"rope_scaling", {{"rope_type", "spiral"}}}}).message,
              HasSubstr("unknown rope type \"spiral\""));
  const auto mode = load_error({{"quantization", {{"mode", "ternary"}}}});
  EXPECT_EQ(mode.code, ErrorCode::unsupported);
  EXPECT_THAT(mode.message, ::testing::AllOf(HasSubstr("\"ternary\""), HasSubstr("mxfp4")));
}

TEST(EngineLoad, SaysWhichFileIsBroken) {
  const TinyModel model;
  fs::resize_file(model.folder() / "model.safetensors", 1000);
  const auto truncated = Engine::load(model.folder(), {.device = "cpu"});
  ASSERT_FALSE(truncated);
  EXPECT_EQ(truncated.error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(truncated.error().message, HasSubstr("model.safetensors"));
  fs::remove(model.folder() / "model.safetensors");
  EXPECT_EQ(Engine::load(model.folder(), {.device = "cpu"}).error().code, ErrorCode::not_found);
  EXPECT_EQ(Engine::load("/nowhere/at/all", {.device = "cpu"}).error().code, ErrorCode::not_found);
}

TEST(EngineLoad, AnAbsentDeviceIsRefused) {
  const TinyModel model;
  const auto engine = Engine::load(model.folder(), {.device = "cuda:99"});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, ErrorCode::unsupported);
  EXPECT_FALSE(Engine::load(model.folder(), {.device = "toaster"}));
}

}  // namespace
}  // namespace hearth::engine
