#include "engine/token_mask.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <stdexcept>

#include "engine/engine.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// Allows what `allow` says after the tokens taken so far; complete after `limit` of them.
class TestMask : public TokenMask {
 public:
  using Allow = std::function<bool(const std::vector<TokenId>&, TokenId)>;
  explicit TestMask(Allow allow, int limit = 1 << 30) : allow_(std::move(allow)), limit_(limit) {}

  Result<MaskWords> compute() override {
    if (int(taken.size()) == fails_after) return fail(ErrorCode::internal, "out of words");
    if (int(taken.size()) == throws_after) throw std::runtime_error("thrown");
    words_.assign((TinyModel::vocab_size + 31) / 32, 0);
    for (TokenId id = 0; id < TinyModel::vocab_size; ++id) {
      if (allow_(taken, id)) words_[id / 32] |= 1u << (id % 32);
    }
    return MaskWords(words_);
  }
  Result<void> accept(TokenId id) override {
    taken.push_back(id);
    return {};
  }
  bool complete() const override { return int(taken.size()) >= limit_; }

  std::vector<TokenId> taken;
  int fails_after = -1, throws_after = -1;

 private:
  Allow allow_;
  int limit_;
  std::vector<std::uint32_t> words_;
};

bool even(const std::vector<TokenId>&, TokenId id) { return id % 2 == 0; }
/// Only the token after the last one.
bool counting(const std::vector<TokenId>& taken, TokenId id) {
  return id == (taken.empty() ? 10 : taken.back() + 1);
}

struct MaskedAnswer {
  std::vector<TokenId> ids;
  std::vector<Sampled> tokens;
  Finish finish;
};

MaskedAnswer read_masked(TokenStream& stream) {
  MaskedAnswer answer;
  for (;;) {
    auto item = stream.pop();
    if (auto* finish = std::get_if<Finish>(&item)) {
      answer.finish = std::move(*finish);
      return answer;
    }
    answer.tokens.push_back(std::get<Sampled>(item));
    answer.ids.push_back(answer.tokens.back().id);
  }
}

class TokenMaskTest : public ::testing::TestWithParam<Tier> {
 protected:
  TokenMaskTest() {
    auto engine = Engine::load(model_.folder(), {.tier = GetParam(), .device = "cpu"});
    EXPECT_TRUE(engine) << engine.error().message;
    engine_ = std::move(*engine);
  }
  std::shared_ptr<TokenStream> submit(std::shared_ptr<TokenMask> mask, Sampling sampling,
                                      int max_tokens = 20, std::vector<TokenId> prompt = {1, 2}) {
    auto stream = engine_->submit({.prompt = std::move(prompt),
                                   .sampling = std::move(sampling),
                                   .max_tokens = max_tokens,
                                   .stop_ids = {90},
                                   .mask = std::move(mask)});
    EXPECT_TRUE(stream) << stream.error().message;
    return *stream;
  }

  TinyModel model_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(TokenMaskTest, OnlyAllowedTokensAreSampled) {
  for (const float temperature : {0.0f, 1.0f, 5.0f}) {
    const Sampling sampling{.temperature = temperature, .seed = 4};
    const auto answer = read_masked(*submit(std::make_shared<TestMask>(even), sampling));
    EXPECT_THAT(answer.ids, Each(::testing::Truly([](TokenId id) { return id % 2 == 0; })));
  }
}

TEST_P(TokenMaskTest, GreedyTakesTheLikeliestOfTheAllowed) {
  const auto free = read_masked(*submit(nullptr, {.temperature = 0, .top_logprobs = 20}, 1));
  TokenId best = -1;
  for (const auto& rival : free.tokens[0].top) {
    if (best < 0 && rival.id % 2 == 0) best = rival.id;
  }
  const auto held = read_masked(*submit(std::make_shared<TestMask>(even), {.temperature = 0}, 1));
  EXPECT_EQ(held.ids, std::vector<TokenId>{best});
}

TEST_P(TokenMaskTest, LogProbabilitiesAreThoseWithoutTheMask) {
  const Sampling sampling{.temperature = 0, .top_logprobs = 20};
  const auto free = read_masked(*submit(nullptr, sampling, 1));
  const auto held = read_masked(*submit(std::make_shared<TestMask>(even), sampling, 1));
  EXPECT_EQ(held.tokens[0].top, free.tokens[0].top);
  for (const auto& rival : free.tokens[0].top) {
    if (rival.id == held.ids[0]) {
      EXPECT_EQ(held.tokens[0].logprob, rival.logprob);
    }
  }
}

TEST_P(TokenMaskTest, AFewAllowedTokensSurviveEveryTruncation) {
  const Sampling sampling{.temperature = 1, .top_p = 0.1f, .top_k = 3, .min_p = 0.5f, .seed = 1};
  const auto answer = read_masked(*submit(std::make_shared<TestMask>(counting), sampling, 5));
  EXPECT_EQ(answer.ids, (std::vector<TokenId>{10, 11, 12, 13, 14}));
}

TEST_P(TokenMaskTest, ACompleteMaskStopsWithItsTokenDelivered) {
  const auto answer = read_masked(*submit(std::make_shared<TestMask>(counting, 3), {}));
  EXPECT_EQ(answer.ids, (std::vector<TokenId>{10, 11, 12}));
  EXPECT_EQ(answer.finish.reason, FinishReason::stop);
  EXPECT_EQ(answer.finish.stop_id, std::nullopt);
  EXPECT_EQ(answer.finish.usage.completion_tokens, 3);
}

TEST_P(TokenMaskTest, AStopIdIsNotTakenByTheMask) {
  const auto mask = std::make_shared<TestMask>(
      [](const auto& taken, TokenId id) { return id == (taken.size() < 2 ? 5 : 90); });
  const auto answer = read_masked(*submit(mask, {}));
  EXPECT_EQ(answer.ids, (std::vector<TokenId>{5, 5}));
  EXPECT_EQ(answer.finish.stop_id, 90);
  EXPECT_EQ(mask->taken, answer.ids);
}

TEST_P(TokenMaskTest, AFailingMaskEndsItsRowAlone) {
  const Sampling sampling{.temperature = 1, .seed = 9};
  const auto alone = read_masked(*submit(nullptr, sampling, 20, {7, 8, 9}));
  const auto failing = std::make_shared<TestMask>(even);
  failing->fails_after = 4;
  const auto throwing = std::make_shared<TestMask>(even);
  throwing->throws_after = 2;
  const auto empty =
      std::make_shared<TestMask>([](const auto& taken, TokenId) { return taken.empty(); });
  const auto first = submit(failing, sampling), second = submit(throwing, sampling),
             third = submit(empty, sampling), fourth = submit(nullptr, sampling, 20, {7, 8, 9});
  const auto failed = read_masked(*first), thrown = read_masked(*second),
             stuck = read_masked(*third);
  EXPECT_EQ(failed.ids.size(), 4u);
  EXPECT_THAT(failed.finish.error->message, HasSubstr("out of words"));
  EXPECT_EQ(thrown.ids.size(), 2u);
  EXPECT_THAT(thrown.finish.error->message, HasSubstr("thrown"));
  EXPECT_EQ(stuck.ids.size(), 1u);
  EXPECT_THAT(stuck.finish.error->message, HasSubstr("leaves no token"));
  EXPECT_EQ(read_masked(*fourth).ids, alone.ids);
}

TEST_P(TokenMaskTest, RowsOfAMixedBatchEqualTheirSoloRuns) {
  const auto mask_of = [](int row) -> std::shared_ptr<TokenMask> {
    if (row % 2 == 0) return nullptr;
    return std::make_shared<TestMask>(
        [row](const auto& taken, TokenId id) { return (id + int(taken.size())) % row == 0; });
  };
  const auto prompt = [](int row) { return std::vector<TokenId>{row + 1, 3, row + 5}; };
  const auto sampling = [](int row) {
    return Sampling{.temperature = 1, .top_p = 0.9f, .seed = std::uint64_t(row)};
  };
  std::vector<std::vector<TokenId>> solo;
  for (int row = 0; row < 8; ++row) {
    solo.push_back(read_masked(*submit(mask_of(row), sampling(row), 12, prompt(row))).ids);
  }
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int row = 0; row < 8; ++row) {
    streams.push_back(submit(mask_of(row), sampling(row), 12, prompt(row)));
  }
  for (int row = 0; row < 8; ++row) EXPECT_EQ(read_masked(*streams[row]).ids, solo[row]) << row;
}

INSTANTIATE_TEST_SUITE_P(Tiers, TokenMaskTest, ::testing::Values(Tier::fast, Tier::l1),
                         [](const auto& tier) { return tier.param == Tier::l1 ? "l1" : "fast"; });

}  // namespace
}  // namespace hearth::engine
