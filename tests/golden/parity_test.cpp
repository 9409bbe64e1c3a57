// Tier l1 against mlx-lm: the full-vocabulary logits equal byte for byte, and so do the greedy ids.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/file.h"
#include "engine/plan.h"
#include "engine/runner.h"
#include "golden_models.h"
#include "models/load.h"

namespace hearth::golden {
namespace {

namespace mx = mlx::core;
using engine::TokenId;

/// How many of the V logits differ in any bit, and the largest difference.
struct Difference {
  int count = 0;
  float largest = 0;
};
Difference compare(const tensor::Array& ours, const float* theirs) {
  Difference d;
  auto widened = mx::contiguous(mx::astype(ours, mx::float32));
  mx::eval(widened);
  const float* mine = widened.data<float>();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (std::memcmp(mine + i, theirs + i, sizeof(float)) == 0) continue;
    ++d.count;
    d.largest = std::max(d.largest, std::abs(mine[i] - theirs[i]));
  }
  return d;
}

TokenId greedy(const tensor::Array& logits) {
  const auto logprobs = engine::l1_logprobs(logits);
  const std::span values(logprobs.data<float>(), logprobs.size());
  return engine::sample_logprobs(values, {.temperature = 0}, 0, 0).id;
}

/// Runs the prompt as the engine plans it at l1. @return the logits after its last token
tensor::Array prefill(const engine::Runner& runner, tensor::SequenceCache& cache,
                      const Fixture& fixture) {
  const auto& prompt = fixture.prompt;
  for (int done = 0;;) {
    const engine::Candidate candidate{1, int(prompt.size()) - done, false};
    const int n = engine::plan_l1_step({&candidate, 1}, fixture.chunk).front().tokens;
    const bool last = done + n == int(prompt.size());
    const engine::RowWork row{&cache, std::span(prompt).subspan(done, n), last};
    auto logits = runner.run({&row, 1});
    done += n;
    if (last) return logits.front().value().front();
  }
}

class Parity : public testing::Test {
 public:
  explicit Parity(GoldenModel model) : model_(std::move(model)) {}

  void TestBody() override {
    mx::set_default_device(mx::Device::cpu);
    const auto loaded = models::load(model_.folder, tensor::Execution::plain);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const engine::Runner runner(*loaded->model, /*shared=*/false);
    for (const auto& file : model_.fixtures) check(*loaded->model, runner, read_fixture(file));
  }

 private:
  void check(const models::Model& model, const engine::Runner& runner, const Fixture& fixture) {
    SCOPED_TRACE(fixture.name + ", prompt of " + std::to_string(fixture.prompt.size()));
    const int steps = int(fixture.greedy.size());
    ASSERT_EQ(fixture.logits.shape(0), steps + 1);
    ASSERT_GT(steps, 0);
    auto cache = tensor::make_sequence_cache(model.caches(), /*kernels=*/false);
    auto logits = prefill(runner, cache, fixture);
    ASSERT_EQ(int(logits.size()), fixture.logits.shape(1));
    for (int step = 0;; ++step) {
      const auto d = compare(logits, fixture.logits.data<float>() + step * logits.size());
      ASSERT_EQ(d.count, 0) << "of " << logits.size() << " logits differ after " << step
                            << " greedy steps, by up to " << d.largest;
      if (step == steps) break;
      const TokenId token = greedy(logits);
      ASSERT_EQ(token, fixture.greedy[step]) << "greedy step " << step;
      const engine::RowWork row{&cache, {&token, 1}, true};
      logits = runner.run({&row, 1}).front().value().front();
    }
  }

  const GoldenModel model_;
};

/// A family that nothing here runs would be listed without having been held to anything.
TEST(Golden, EveryFamilyOfTextHasAModel) {
  std::set<const models::Family*> covered;
  for (const auto& model : golden_models()) {
    const auto config = read_json_file(model.folder / "config.json");
    ASSERT_TRUE(config) << config.error().message;
    covered.insert(models::find_family((*config)["model_type"].get<std::string>()));
  }
  for (const auto type : models::known_model_types()) {
    const bool encoder = type == "bert";  // tests/live/cli_embed_test.py
    EXPECT_TRUE(encoder || covered.contains(models::find_family(type))) << type;
  }
}

}  // namespace
}  // namespace hearth::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const auto& model : hearth::golden::golden_models()) {
    testing::RegisterTest(
        "Parity", model.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [model]() -> testing::Test* { return new hearth::golden::Parity(model); });
  }
  return RUN_ALL_TESTS();
}
