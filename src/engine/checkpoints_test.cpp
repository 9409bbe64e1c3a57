// An answer that was cut off goes on as if it never had been.
#include "engine/checkpoints.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "engine/engine_testing.h"
#include "engine/prompt_cache/testing.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

const BlockKey an_id = root_key("an answer");

std::vector<fs::path> files(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) found.push_back(entry.path());
  return found;
}

void overwrite(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(CheckpointFile, IsReadAsItWasWritten) {
  const TestFolder folder;
  const auto path = folder.path / checkpoint_name(an_id);
  const Checkpoint checkpoint{.seed = 0xFEDCBA9876543210u, .tokens = {1, 70'000, 3}};
  ASSERT_TRUE(write_checkpoint(path, an_id, checkpoint));
  EXPECT_EQ(*read_checkpoint(path, an_id), checkpoint);
  EXPECT_EQ(read_checkpoint(path, root_key("another")).error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(read_checkpoint(folder.path / "none", an_id).error().code, ErrorCode::not_found);
}

TEST(CheckpointFile, NoDamageIsOverlooked) {
  const TestFolder folder;
  const auto path = folder.path / checkpoint_name(an_id);
  ASSERT_TRUE(write_checkpoint(path, an_id, {.seed = 7, .tokens = {4, 5, 6}}));
  const auto whole = *read_file(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto bytes = whole;
    bytes[i] ^= 4;
    overwrite(path, bytes);
    EXPECT_EQ(read_checkpoint(path, an_id).error().code, ErrorCode::corrupt_file) << i;
    overwrite(path, whole.substr(0, i));
    EXPECT_EQ(read_checkpoint(path, an_id).error().code, ErrorCode::corrupt_file) << i;
  }
}

TEST(Checkpoints, OneRequestAtATimeHasAnAnswersCheckpoint) {
  const TestFolder folder;
  Checkpoints checkpoints({.folder = folder.path, .every = 4});
  auto claim = checkpoints.claim(an_id);
  ASSERT_TRUE(claim);
  EXPECT_FALSE(claim->found());
  EXPECT_TRUE(claim->due(8));
  EXPECT_FALSE(claim->due(9));
  EXPECT_FALSE(checkpoints.claim(an_id));
  const std::vector<TokenId> tokens{1, 2, 3, 4};
  claim->save(5, tokens);
  claim.reset();
  claim = checkpoints.claim(an_id);
  EXPECT_EQ(claim->found(), (Checkpoint{.seed = 5, .tokens = tokens}));
  claim->finished();
  claim.reset();
  EXPECT_FALSE(checkpoints.claim(an_id)->found());
  checkpoints.drain();
  EXPECT_TRUE(files(folder.path).empty());
}

TEST(Checkpoints, TheLatestIsThereWhenTheProcessEnds) {
  const TestFolder folder;
  const std::vector<TokenId> tokens{1, 2, 3, 4, 5, 6};
  {
    Checkpoints checkpoints({.folder = folder.path, .every = 1});
    const auto claim = checkpoints.claim(an_id);
    for (std::size_t n = 1; n <= tokens.size(); ++n) claim->save(9, std::span(tokens).first(n));
  }
  Checkpoints again({.folder = folder.path, .every = 1});
  EXPECT_EQ(again.claim(an_id)->found(), (Checkpoint{.seed = 9, .tokens = tokens}));
}

TEST(Checkpoints, NumberBytesAndAgeAreBounded) {
  const TestFolder folder;
  fs::create_directories(folder.path);
  const auto put = [&](const std::string& name, std::chrono::hours age) {
    overwrite(folder.path / name, "something");
    fs::last_write_time(folder.path / name, fs::file_time_type::clock::now() - age);
  };
  put(checkpoint_name(root_key("old")), std::chrono::hours(24 * 8));
  put(checkpoint_name(root_key("half")) + ".123.tmp", std::chrono::hours(1));
  put("somebody's", std::chrono::hours(24 * 99));
  const std::vector<TokenId> tokens(100, 1);  // 448 bytes a file
  const auto left = [&](Checkpoints::Settings settings) {
    settings.folder = folder.path;
    settings.every = 1;
    Checkpoints checkpoints(settings);
    for (int i = 0; i < 9; ++i) {
      checkpoints.claim(root_key(std::to_string(i)))->save(1, tokens);
      checkpoints.drain();
    }
    EXPECT_TRUE(checkpoints.claim(root_key("8"))->found());
    return files(folder.path).size() - 1;
  };
  EXPECT_EQ(left({.max_files = 5}), 5u);
  EXPECT_EQ(left({.max_bytes = 1000}), 2u);
  EXPECT_EQ(left({}), 9u);
  EXPECT_TRUE(fs::exists(folder.path / "somebody's"));
}

TEST(Checkpoints, AFolderThatCannotBeUsedIsDoneWithout) {
  const TestFolder folder;
  overwrite(folder.path, "no folder");
  Checkpoints checkpoints({.folder = folder.path / "checkpoints", .every = 1});
  const auto claim = checkpoints.claim(an_id);
  ASSERT_TRUE(claim);
  claim->save(1, std::vector<TokenId>{1});
  checkpoints.drain();
  EXPECT_EQ(checkpoints.stats().failed, 1u);
  EXPECT_EQ(checkpoints.stats().written, 0u);
}

TEST(Checkpoints, WhatDecidesAnAnswerIsInItsName) {
  const auto request = [] { return GenerateRequest{.prompt = {1, 2, 3}, .max_tokens = 9}; };
  std::vector<GenerateRequest> all(9, request());
  all[1].prompt.push_back(4);
  all[2].max_tokens = 10;
  all[3].stop_ids = {3};
  all[4].cache_scope = "adapter";
  all[5].answer_scope = "stop";
  all[6].choice = 1;
  all[7].sampling.seed = 1;
  all[8].sampling.top_p = 0.5f;
  std::set<BlockKey> names;
  for (const auto& one : all) names.insert(answer_id("model", one));
  names.insert(answer_id("another model", request()));
  EXPECT_EQ(names.size(), all.size() + 1);
  auto session = request();
  session.session = "a client's";
  EXPECT_EQ(answer_id("model", session), answer_id("model", request()));
}

/// Even ids after odd ones and the other way round; all of `most`, then it is complete.
class Alternating final : public TokenMask {
 public:
  explicit Alternating(int most) : left_(most), words_(TinyModel::vocab_size / 32) {}
  Result<MaskWords> compute() override {
    words_.assign(words_.size(), odd_ ? 0xAAAAAAAAu : 0x55555555u);
    return MaskWords(words_);
  }
  Result<void> accept(TokenId id) override {
    if (id % 2 != int(odd_)) return fail(ErrorCode::internal, "not allowed");
    odd_ = !odd_;
    --left_;
    return {};
  }
  bool complete() const override { return left_ == 0; }

 private:
  int left_;
  bool odd_ = false;
  std::vector<std::uint32_t> words_;
};

struct Setting {
  const char* name;
  Tier tier;
  int window;
};

class ResumedAnswer : public testing::TestWithParam<Setting> {
 protected:
  static constexpr int every = 8;

  std::unique_ptr<Engine> load(bool keeps = true) {
    EngineOptions options{.tier = GetParam().tier, .device = "cpu", .prefill_chunk = 64};
    options.prompt_cache.max_bytes = 64 << 20;
    if (keeps) {
      options.prompt_cache.disk = folder_.path;
      options.checkpoint_every = every;
    }
    return std::move(*Engine::load(model_.folder(), options));
  }

  static GenerateRequest sampled(int prompt = 130) {
    return {.prompt = random_prompt(prompt, 5),
            .sampling = {.temperature = 1, .repetition_penalty = 1.1f, .seed = 11},
            .max_tokens = 150};
  }

  /// Begins the answer, and ends as a process does that is told to after `tokens` of it.
  std::vector<TokenId> cut_off(GenerateRequest request, int tokens) {
    const auto engine = load();
    auto stream = *engine->submit(std::move(request));
    std::vector<TokenId> ids;
    while (int(ids.size()) < tokens) ids.push_back(std::get<Sampled>(stream->pop()).id);
    stream->cancel();
    const auto rest = read(*stream);
    EXPECT_EQ(rest.finish.reason, FinishReason::cancelled);
    ids.insert(ids.end(), rest.ids.begin(), rest.ids.end());
    return ids;
  }

  std::vector<fs::path> checkpoints() const { return files(folder_.path / "checkpoints"); }

  TestFolder folder_;
  TinyModel model_{{.window = GetParam().window, .context_length = 1024}};
};

TEST_P(ResumedAnswer, IsTheUninterruptedOne) {
  const auto whole = run(*load(false), sampled()).ids;
  for (const int at : {9, 30, 90}) {
    SCOPED_TRACE(at);
    cut_off(sampled(), at);
    ASSERT_EQ(checkpoints().size(), 1u);
    const auto engine = load();
    const auto answer = run(*engine, sampled());
    EXPECT_EQ(answer.ids, whole);
    EXPECT_EQ(answer.finish.reason, FinishReason::length);
    EXPECT_EQ(answer.finish.usage.completion_tokens, 150);
    EXPECT_LE(answer.finish.usage.cached_tokens, 130);
    const auto stats = engine->stats();
    EXPECT_EQ(stats.checkpoints.resumed, 1u);
    EXPECT_GE(stats.checkpoints.replayed_tokens, std::uint64_t(at / every * every));
    EXPECT_EQ(stats.completion_tokens + stats.checkpoints.replayed_tokens, 150u);
  }
}

TEST_P(ResumedAnswer, CostsNoStepForWhatWasSaid) {
  cut_off(sampled(), 90);
  const auto engine = load();
  run(*engine, sampled());
  const auto stats = engine->stats();
  const auto generated = 150 - int(stats.checkpoints.replayed_tokens);
  const bool l1 = GetParam().tier == Tier::l1;  // where what was said is computed as it was
  EXPECT_LE(int(stats.steps), (l1 ? 150 : generated) + 4);
  EXPECT_GE(stats.checkpoints.replayed_tokens, 88u);
}

TEST_P(ResumedAnswer, WithoutASeedGoesOnWithItsOwn) {
  auto request = sampled();
  request.sampling.seed.reset();
  const auto began = cut_off(request, 40);
  const auto engine = load();
  const auto answer = run(*engine, request);
  const auto replayed = std::ptrdiff_t(engine->stats().checkpoints.replayed_tokens);
  ASSERT_GE(replayed, 40);
  ASSERT_GE(std::ssize(began), replayed);
  EXPECT_TRUE(std::equal(began.begin(), began.begin() + replayed, answer.ids.begin()));
  EXPECT_EQ(answer.ids.size(), 150u);
  EXPECT_NE(run(*engine, request).ids, answer.ids);  // complete: the next one is fresh
}

TEST_P(ResumedAnswer, IsHeldByItsMask) {
  const auto masked = [] {
    auto request = sampled();
    request.mask_anew = [] { return std::make_shared<Alternating>(120); };
    request.mask = *request.mask_anew();
    return request;
  };
  const auto whole = run(*load(false), masked()).ids;
  ASSERT_EQ(whole.size(), 120u);
  cut_off(masked(), 33);
  const auto engine = load();
  EXPECT_EQ(run(*engine, masked()).ids, whole);
  EXPECT_EQ(engine->stats().checkpoints.resumed, 1u);
}

TEST_P(ResumedAnswer, BeginsAnewWhereItsMaskRefusesWhatWasSaid) {
  cut_off(sampled(), 33);
  auto request = sampled();
  request.mask_anew = [] { return std::make_shared<Alternating>(120); };
  request.mask = *request.mask_anew();
  const auto engine = load();
  const auto answer = run(*engine, request);
  EXPECT_EQ(answer.finish.reason, FinishReason::stop);
  EXPECT_EQ(answer.ids.size(), 120u);
  EXPECT_EQ(engine->stats().checkpoints.resumed, 0u);
}

TEST_P(ResumedAnswer, LeavesNothingWhenItIsComplete) {
  const auto engine = load();
  run(*engine, sampled());
  auto stream = *engine->submit(sampled(131));
  for (int i = 0; i < 20; ++i) stream->pop();
  stream->stop();  // a stop string, which the reader alone knows of
  read(*stream);
  auto cut = *engine->submit(sampled(132));
  for (int i = 0; i < 20; ++i) cut->pop();
  cut->cancel();
  read(*cut);
  engine->flush_cache(std::chrono::seconds(5));
  for (int i = 0; i < 1000 && checkpoints().size() != 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(checkpoints().size(), 1u);
}

TEST_P(ResumedAnswer, IsNeverAnotherRequests) {
  cut_off(sampled(), 40);
  const auto engine = load();
  auto other = sampled();
  other.sampling.seed = 12;
  auto told = sampled();
  told.sampling.top_logprobs = 0;  // of which nothing is kept
  run(*engine, other);
  EXPECT_EQ(run(*engine, told).sampled.size(), 150u);
  EXPECT_EQ(engine->stats().checkpoints.resumed, 0u);
}

TEST_P(ResumedAnswer, BeginsAnewFromADamagedFile) {
  const auto whole = run(*load(false), sampled()).ids;
  cut_off(sampled(), 40);
  auto bytes = *read_file(checkpoints().front());
  bytes[bytes.size() / 2] ^= 1;
  overwrite(checkpoints().front(), bytes);
  const auto engine = load();
  EXPECT_EQ(run(*engine, sampled()).ids, whole);
  EXPECT_EQ(engine->stats().checkpoints.resumed, 0u);
}

INSTANTIATE_TEST_SUITE_P(, ResumedAnswer,
                         testing::Values(Setting{"fast", Tier::fast, 0},
                                         Setting{"fast_window", Tier::fast, 32},
                                         Setting{"l1", Tier::l1, 0},
                                         Setting{"l1_window", Tier::l1, 32}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hearth::engine
