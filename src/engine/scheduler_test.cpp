#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/fragile_model.h"
#include "engine/tiny_model.h"
#include "models/load.h"

namespace hearth::engine {
namespace {

using testing::HasSubstr;

/// A scheduler on a thread of its own, over a model that a token is fatal to.
class SchedulerTest : public testing::TestWithParam<Tier> {
 protected:
  std::shared_ptr<TokenStream> submit(std::vector<TokenId> prompt, int max_tokens) {
    auto stream = std::make_shared<TokenStream>();
    Job job{.request = {.prompt = std::move(prompt), .sampling = {.temperature = 0}},
            .stream = stream,
            .submitted = Sequence::Clock::now(),
            .grant = {.token_limit = max_tokens},
            .alone = nullptr};
    job.request.sampling.logit_bias = {{no_memory, -1e9f}};  // it is in prompts alone
    ++counters_.submitted;
    ++counters_.waiting;
    EXPECT_TRUE(inbox_.push(job));
    return stream;
  }

  static std::pair<std::vector<TokenId>, Finish> read(TokenStream& stream) {
    std::vector<TokenId> ids;
    for (;;) {
      auto item = stream.pop();
      if (auto* finish = std::get_if<Finish>(&item)) return {ids, std::move(*finish)};
      ids.push_back(std::get<Sampled>(item).id);
    }
  }

  TinyModel files_;
  Counters counters_;
  Inbox<Job> inbox_{64};
  std::jthread thread_{[this](std::stop_token stop) {
    const bool kernels = GetParam() == Tier::fast;
    const auto loaded = models::load(
        files_.folder(), kernels ? tensor::Execution::kernels : tensor::Execution::plain);
    const Fragile fragile(*loaded->model);
    Scheduler(fragile, {.tier = GetParam(), .step_tokens = 24}, kernels, nullptr, counters_)
        .run(inbox_, stop);
  }};
};

TEST_P(SchedulerTest, AStepWithoutMemoryEndsTheRowThatNeedsIt) {
  const std::vector<TokenId> first{1, 2, 3, 4}, second(40, 9);
  const auto alone_first = read(*submit(first, 30)).first;
  const auto alone_second = read(*submit(second, 20)).first;
  auto a = submit(first, 30);
  a->pop();  // it streams already
  std::vector<TokenId> fatal(60, 5);
  fatal[50] = no_memory;
  auto broken = submit(fatal, 10);
  auto b = submit(second, 20);
  const auto [none, finish] = read(*broken);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(finish.reason, FinishReason::error);
  ASSERT_TRUE(finish.error);
  EXPECT_EQ(finish.error->code, ErrorCode::internal);
  EXPECT_THAT(finish.error->message, HasSubstr("bad_alloc"));
  EXPECT_EQ(read(*b).first, alone_second);
  const auto rest = read(*a);
  EXPECT_EQ(rest.second.reason, FinishReason::length);
  EXPECT_EQ(rest.first, std::vector<TokenId>(alone_first.begin() + 1, alone_first.end()));
  EXPECT_EQ(read(*submit(first, 30)).first, alone_first);  // and the last request works
}

TEST_P(SchedulerTest, AnAdmissionBoundsWhatRunsTogether) {
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(submit({TokenId(10 + i)}, 6));
  for (auto& stream : streams) EXPECT_EQ(read(*stream).first.size(), 6u);
  while (counters_.active > 0) std::this_thread::yield();
  EXPECT_EQ(counters_.finished, 20u);
  EXPECT_EQ(counters_.waiting, 0);
  EXPECT_EQ(counters_.kv_projected, 0u);
}

INSTANTIATE_TEST_SUITE_P(Tiers, SchedulerTest, testing::Values(Tier::fast, Tier::l1),
                         [](const auto& info) { return info.param == Tier::l1 ? "l1" : "fast"; });

}  // namespace
}  // namespace hearth::engine
