// The fast tier against the oracle's logits, and against itself: a row's logits do not depend on
// chunking or on what else is in its batch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/runner.h"
#include "golden_models.h"
#include "models/load.h"

namespace hearth::golden {
namespace {

namespace mx = mlx::core;
using engine::RowWork;
using engine::TokenId;
using Logits = std::vector<float>;

Logits values(const tensor::Array& logits) {
  return {logits.data<float>(), logits.data<float>() + logits.size()};
}

/// Root of the mean squared difference, over the standard deviation of the reference.
double relative_error(const Logits& ours, const float* reference) {
  double mean = 0, variance = 0, error = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) mean += reference[i] / ours.size();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    variance += std::pow(reference[i] - mean, 2);
    error += std::pow(double(ours[i]) - reference[i], 2);
  }
  return std::sqrt(error / variance);
}

/// The stated bound on the root mean square over all steps. For 16-bit checkpoints it is the
/// rounding of the plain graph in the checkpoint's own dtype, which random weights amplify and the
/// fast tier's float32 activations do not have; for float32 ones it is the fast tier's own: keys
/// and values in float16, activations in int16.
double bound(const tensor::Checkpoint& checkpoint) {
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (tensor.dtype() == mx::bfloat16) return 0.4;
    if (tensor.dtype() == mx::float16) return 0.04;
  }
  return 0.006;
}

class Fast : public testing::Test {
 public:
  explicit Fast(GoldenModel model) : model_(std::move(model)) {}

  void TestBody() override {
    mx::set_default_device(mx::Device::cpu);
    auto checkpoint = tensor::load_checkpoint(model_.folder);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    bound_ = bound(*checkpoint);
    auto loaded = models::load(std::move(*checkpoint), model_.name, tensor::Execution::kernels);
    ASSERT_TRUE(loaded) << loaded.error().message;
    network_ = std::move(loaded->model);
    std::vector<Fixture> fixtures;
    for (const auto& file : model_.fixtures) fixtures.push_back(read_fixture(file));
    for (const auto& fixture : fixtures) agrees_with_the_oracle(fixture);
    is_batch_invariant(fixtures);
  }

 private:
  tensor::SequenceCache new_cache() const {
    return tensor::make_sequence_cache(network_->caches(), /*kernels=*/true);
  }

  /// Prefills in chunks. @return the logits after the last token
  Logits prefill(tensor::SequenceCache& cache, std::span<const TokenId> prompt, int chunk) const {
    const engine::Runner runner(*network_, /*shared=*/true);
    for (std::size_t done = 0;;) {
      const auto n = std::min<std::size_t>(chunk, prompt.size() - done);
      const bool last = done + n == prompt.size();
      const RowWork row{&cache, prompt.subspan(done, n), last};
      const auto logits = runner.run({&row, 1});
      done += n;
      if (last) return values(logits.front().value().front());
    }
  }

  void agrees_with_the_oracle(const Fixture& fixture) const {
    SCOPED_TRACE(fixture.name);
    const engine::Runner runner(*network_, true);
    auto cache = new_cache();
    auto ours = prefill(cache, fixture.prompt, 512);
    const std::size_t width = ours.size();
    double squares = 0;
    for (std::size_t step = 0;; ++step) {
      squares += std::pow(relative_error(ours, fixture.logits.data<float>() + step * width), 2);
      if (step == fixture.greedy.size()) break;
      const RowWork row{&cache, {&fixture.greedy[step], 1}, true};
      ours = values(runner.run({&row, 1}).front().value().front());
    }
    EXPECT_LT(std::sqrt(squares / (fixture.greedy.size() + 1)), bound_)
        << "over the oracle's greedy steps";
  }

  void is_batch_invariant(const std::vector<Fixture>& fixtures) const {
    std::vector<tensor::SequenceCache> alone, together;
    std::vector<Logits> expected;
    for (const auto& fixture : fixtures) {
      const std::span<const TokenId> prompt(fixture.prompt);
      alone.push_back(new_cache());
      expected.push_back(prefill(alone.back(), prompt, 512));
      auto cache = new_cache();
      ASSERT_EQ(prefill(cache, prompt.first(std::min<std::size_t>(prompt.size(), 90)), 7),
                first_logits(prompt))
          << "chunks of 7 against one chunk";
      together.push_back(new_cache());
    }
    // All prompts in one step, then every row decodes beside the others.
    const engine::Runner runner(*network_, true);
    std::vector<RowWork> rows;
    for (std::size_t i = 0; i < fixtures.size(); ++i) {
      rows.push_back({&together[i], fixtures[i].prompt, true});
    }
    for (int step = 0; step < 4; ++step) {
      const auto logits = runner.run(rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(values(logits[i].value().front()), expected[i])
            << "row " << i << ", step " << step;
        const TokenId* next = &fixtures[i].greedy[step];
        const RowWork row{&alone[i], {next, 1}, true};
        expected[i] = values(runner.run({&row, 1}).front().value().front());
        rows[i].tokens = {next, 1};
      }
    }
  }

  Logits first_logits(std::span<const TokenId> prompt) const {
    auto cache = new_cache();
    return prefill(cache, prompt.first(std::min<std::size_t>(prompt.size(), 90)), 512);
  }

  const GoldenModel model_;
  std::unique_ptr<models::Model> network_;
  double bound_ = 0;
};

}  // namespace
}  // namespace hearth::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const auto& model : hearth::golden::golden_models()) {
    if (!model.fast) continue;
    testing::RegisterTest("Fast", model.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [model]() -> testing::Test* { return new hearth::golden::Fast(model); });
  }
  return RUN_ALL_TESTS();
}
