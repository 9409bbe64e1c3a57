#include "tensor/kernels/kernels.h"
#include "tensor/kernels/testing.h"

namespace hearth::kernels {
namespace {

using testing::expect_same_bits;
using testing::expect_within;
using testing::KernelTest;
using testing::normal;
using testing::rows_of;
namespace mx = mlx::core;

using RowwiseTest = KernelTest;

TEST_F(RowwiseTest, RmsNormIsWithinAMillionth) {
  for (const int width : {1, 3, 8, 33, 576, 2048}) {
    const Array x = normal({7, width}, 1), weight = normal({width}, 2);
    const auto near = [](const Array& expected) {
      return mx::add(mx::multiply(mx::abs(expected), Array(2e-6f)), Array(1e-6f));
    };
    const Array expected = mx::fast::rms_norm(x, weight, 1e-5f);
    expect_within(rms_norm(x, weight, 1e-5f), expected, near(expected));
    const Array plain = mx::fast::rms_norm(x, std::nullopt, 1e-6f);
    expect_within(rms_norm(x, {}, 1e-6f), plain, near(plain));
  }
}

TEST_F(RowwiseTest, ANormedRowIsTheSameAloneAndAmongOthers) {
  const Array x = normal({300, 577}, 1), weight = normal({577}, 2);
  const Array all = rms_norm(x, weight, 1e-5f);
  for (const int i : {0, 1, 128, 299}) {
    expect_same_bits(rms_norm(rows_of(x, i, 1), weight, 1e-5f), rows_of(all, i, 1));
  }
}

TEST_F(RowwiseTest, AddThenNormEqualsTheTwoApart) {
  const Array x = normal({70, 577}, 1), y = normal({70, 577}, 2), weight = normal({577}, 3);
  const auto [sum, normed] = add_rms_norm(x, y, weight, 1e-5f);
  expect_same_bits(sum, mx::add(x, y));
  expect_same_bits(normed, rms_norm(mx::add(x, y), weight, 1e-5f));
}

Array plain_gelu(const Array& g) {
  const Array inner = mx::multiply(
      mx::add(g, mx::multiply(mx::power(g, Array(3.0f)), Array(0.044715f))), Array(0.7978845608f));
  return mx::multiply(mx::multiply(g, Array(0.5f)), mx::add(mx::tanh(inner), Array(1.0f)));
}

TEST_F(RowwiseTest, GatesAreWithinAMillionth) {
  for (const int width : {1, 5, 8, 1536, 1539}) {
    const Array gate = mx::multiply(normal({9, width}, 1), Array(4.0f));
    const Array up = normal({9, width}, 2);
    const Array silu = mx::multiply(mx::multiply(gate, mx::sigmoid(gate)), up);
    const Array gelu = mx::multiply(plain_gelu(gate), up);
    const Array bound =
        mx::multiply(mx::add(mx::abs(mx::multiply(gate, up)), Array(1e-3f)), Array(2e-6f));
    expect_within(gated(gate, up, Activation::silu), silu, bound);
    expect_within(gated(gate, up, Activation::gelu_tanh), gelu, bound);
    const Array both = mx::concatenate({gate, up}, -1);
    expect_same_bits(gated(both, Activation::silu), gated(gate, up, Activation::silu));
    expect_same_bits(gated(both, Activation::gelu_tanh), gated(gate, up, Activation::gelu_tanh));
  }
}

TEST_F(RowwiseTest, AGateDoesNotDependOnItsPlaceOrNeighbours) {
  const Array gate = normal({300, 77}, 1), up = normal({300, 77}, 2);
  const Array all = gated(gate, up, Activation::silu);
  const auto column = [](const Array& x) {
    return mx::contiguous(mx::slice(x, {0, 76}, {300, 77}));
  };
  expect_same_bits(gated(column(gate), column(up), Activation::silu), column(all));
  expect_same_bits(gated(rows_of(gate, 9, 1), rows_of(up, 9, 1), Activation::silu),
                   rows_of(all, 9, 1));
}

TEST_F(RowwiseTest, GatesAreSaneFarOut) {
  const float inf = std::numeric_limits<float>::infinity();
  const Array gate({-inf, -1e4f, -90.0f, 0.0f, 90.0f, 1e4f, inf, std::nanf("")}, {8});
  const Array one = mx::ones({8});
  for (const auto activation : {Activation::silu, Activation::gelu_tanh}) {
    Array y = gated(gate, one, activation);
    y.eval();
    const float* v = y.data<float>();
    EXPECT_TRUE(std::isnan(v[0]) || v[0] == 0.0f);
    for (int i = 1; i <= 3; ++i) EXPECT_NEAR(v[i], 0.0f, 1e-30f) << i;
    EXPECT_EQ(v[4], 90.0f);
    EXPECT_EQ(v[5], 1e4f);
    EXPECT_EQ(v[6], inf);
    EXPECT_TRUE(std::isnan(v[7]));
  }
}

TEST_F(RowwiseTest, TheNumberOfThreadsChangesNothing) {
  const Array x = normal({400, 512}, 1), weight = normal({512}, 2);
  set_threads(1);
  Array norm = rms_norm(x, weight, 1e-5f), gate = gated(x, Activation::silu);
  mx::eval(norm, gate);
  set_threads(4);
  expect_same_bits(rms_norm(x, weight, 1e-5f), norm);
  expect_same_bits(gated(x, Activation::silu), gate);
}

TEST_F(RowwiseTest, SaysWhatIsWrong) {
  const Array x = normal({2, 8}, 1);
  EXPECT_THROW(rms_norm(x, normal({7}, 2), 1e-5f), std::invalid_argument);
  EXPECT_THROW(rms_norm(mx::astype(x, mx::bfloat16), {}, 1e-5f), std::invalid_argument);
  EXPECT_THROW(add_rms_norm(x, normal({2, 7}, 2), normal({8}, 3), 1e-5f), std::invalid_argument);
  EXPECT_THROW(gated(x, normal({2, 7}, 2), Activation::silu), std::invalid_argument);
  EXPECT_THROW(gated(normal({2, 7}, 2), Activation::silu), std::invalid_argument);
}

}  // namespace
}  // namespace hearth::kernels
