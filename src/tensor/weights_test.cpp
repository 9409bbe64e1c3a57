#include "tensor/weights.h"

#include <gtest/gtest.h>

namespace hearth::tensor {
namespace {

Weights view(std::map<std::string, Array> tensors, Json quantization = {}) {
  mx::set_default_device(mx::Device::cpu);
  return {std::move(tensors), std::move(quantization), Execution::plain};
}

TEST(Weights, AllThatIsMissingOrMisshapenIsTold) {
  const auto w = view({{"a.weight", mx::zeros({2, 3})}});
  EXPECT_EQ(w["a"].take("weight", {3, 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(w["b"].take("weight", {4}).shape(), Shape{4});
  ASSERT_EQ(w.faults().size(), 2u);
  EXPECT_EQ(w.faults()[0], "a.weight is [2, 3], expected [3, 2]");
  EXPECT_EQ(w.faults()[1], "b.weight is missing, expected [4]");
  EXPECT_TRUE(w.unused().empty());
}

TEST(Weights, FloatFormatsFollowFromScalesAndShape) {
  const auto of = [](const char* mode, int group, int bits) {
    const auto parts = mx::quantize(mx::ones({4, 64}), group, bits, mode);
    return view({{"a.weight", parts[0]}, {"a.scales", parts[1]}})["a"].quantization(64);
  };
  EXPECT_EQ(of("mxfp4", 32, 4), (Quantization{32, 4, "mxfp4"}));
  EXPECT_EQ(of("mxfp8", 32, 8), (Quantization{32, 8, "mxfp8"}));
  EXPECT_EQ(of("nvfp4", 16, 4), (Quantization{16, 4, "nvfp4"}));
}

TEST(Weights, ExpertsAreStacked) {
  const auto w = view(
      {{"m.experts.0.up.weight", mx::zeros({2, 3})}, {"m.experts.1.up.weight", mx::ones({2, 3})}});
  w["m"].stack("experts.{}.up", 2, "switch.up");
  const auto all = w["m"]["switch"]["up"].take("weight", {2, 2, 3});
  EXPECT_TRUE(mx::array_equal(mx::sum(all, {1, 2}), Array({0.0f, 6.0f})).item<bool>());
  EXPECT_TRUE(w.unused().empty());
  EXPECT_THROW(view({{"experts.0.up.weight", mx::zeros({1})}}).stack("experts.{}.up", 2, "x"),
               WeightError);
}

TEST(Weights, ViewsAreMovedAndRewritten) {
  const auto w = view({{"model.text.a", mx::zeros({1})}, {"other", mx::zeros({1})}});
  w.move("model.text.", "text.model.");
  EXPECT_TRUE(w["text"]["model"].has("a"));
  w["text"].rewrite([](std::string_view, const Array&) { return std::nullopt; });
  EXPECT_EQ(w.unused(), std::vector<std::string>{"other"});
}

}  // namespace
}  // namespace hearth::tensor
