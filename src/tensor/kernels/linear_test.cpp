#include <gmock/gmock.h>

#include <tuple>

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/testing.h"

namespace hearth::kernels {
namespace {

using testing::expect_same_bits;
using testing::expect_within;
using testing::KernelTest;
using testing::normal;
using testing::root_mean_square;
using testing::rows_of;
namespace mx = mlx::core;

using Weights = std::shared_ptr<const PackedLinear>;

/// A quantised layer, and the same weights as f32.
struct Quantized {
  Weights packed;
  Array plain;
};

Quantized quantized(int n, int k, int group, int bits, mx::Dtype scale_type, std::uint64_t seed,
                    const std::optional<Array>& bias = {}) {
  const auto q = mx::quantize(normal({n, k}, seed), group, bits);
  const Array scales = mx::astype(q[1], scale_type), biases = mx::astype(q[2], scale_type);
  const Array plain = mx::dequantize(q[0], mx::astype(scales, mx::float32),
                                     mx::astype(biases, mx::float32), group, bits);
  return {PackedLinear::affine(q[0], scales, biases, group, bits, bias), plain};
}

/// Each activation is rounded by at most a 65534th of the greatest of its row; the rest is f32.
Array affine_bound(const Array& x, const Array& plain) {
  const Array weights = mx::abs(plain);
  const Array step = mx::divide(mx::max(mx::abs(x), -1, true), Array(65534.0f));
  const Array rounding = mx::multiply(step, mx::expand_dims(mx::sum(weights, -1), 0));
  const Array sums = mx::matmul(mx::abs(x), mx::transpose(weights));
  return mx::add(rounding, mx::multiply(sums, Array(4e-6f)));
}

void expect_rows_equal_alone(const Array& x, const Weights& weights) {
  const Array all = linear(x, weights);
  for (int i = 0; i < x.shape(0); ++i) {
    SCOPED_TRACE(i);
    expect_same_bits(linear(rows_of(x, i, 1), weights), rows_of(all, i, 1));
  }
}

struct Affine : KernelTest, ::testing::WithParamInterface<std::tuple<int, int>> {};

TEST_P(Affine, IsWithinTheBoundOfThePlainProduct) {
  const auto [bits, group] = GetParam();
  for (const int n : {1, 16, 77}) {
    for (const int k : {group, 3 * group, 640}) {
      for (const auto type : {mx::float32, mx::float16, mx::bfloat16}) {
        const auto layer = quantized(n, k, group, bits, type, 1);
        for (const int rows : {1, 2, 3, 4, 5, 17, 64}) {
          const Array x = normal({rows, k}, 2);
          const Array expected = mx::matmul(x, mx::transpose(layer.plain));
          expect_within(linear(x, layer.packed), expected, affine_bound(x, layer.plain));
        }
      }
    }
  }
}

TEST_P(Affine, ErrsByLessThanATenThousandthOnAverage) {
  const auto [bits, group] = GetParam();
  const auto layer = quantized(200, 1024, group, bits, mx::float16, 3);
  const Array x = normal({40, 1024}, 4);
  const Array expected = mx::matmul(x, mx::transpose(layer.plain));
  const float error = root_mean_square(mx::subtract(linear(x, layer.packed), expected));
  EXPECT_LT(error, 1e-4f * root_mean_square(expected));
}

TEST_P(Affine, ARowIsTheSameAloneAndAmongOthers) {
  const auto [bits, group] = GetParam();
  const auto layer = quantized(77, 640, group, bits, mx::float16, 5);
  for (const int rows : {2, 3, 4, 5, 17, 64, 300}) {
    expect_rows_equal_alone(normal({rows, 640}, 6), layer.packed);
  }
}

TEST_P(Affine, GivesBackTheRowsOfATable) {
  const auto [bits, group] = GetParam();
  const auto table = quantized(77, 384, group, bits, mx::bfloat16, 7);
  const Array ids({0, 76, 15, 16, 76, 33}, {2, 3}, mx::int32);
  expect_within(table.packed->rows(ids), mx::take(table.plain, ids, 0), Array(1e-6f));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Affine,
                         ::testing::Combine(::testing::Values(2, 3, 4, 5, 6, 8),
                                            ::testing::Values(32, 64, 128)));

struct Dense : KernelTest, ::testing::WithParamInterface<mx::Dtype> {};

TEST_P(Dense, IsThePlainProductInF32) {
  for (const int n : {1, 16, 77, 200}) {
    for (const int k : {1, 7, 333, 600}) {
      const Array weight = mx::astype(normal({n, k}, 1), GetParam());
      const auto packed = PackedLinear::dense(weight);
      const Array plain = mx::astype(weight, mx::float32);
      for (const int rows : {1, 2, 3, 4, 5, 6, 7, 17, 64}) {
        const Array x = normal({rows, k}, 2);
        const Array sums = mx::matmul(mx::abs(x), mx::transpose(mx::abs(plain)));
        expect_within(linear(x, packed), mx::matmul(x, mx::transpose(plain)),
                      mx::multiply(sums, Array(4e-6f)));
      }
    }
  }
}

TEST_P(Dense, ARowIsTheSameAloneAndAmongOthers) {
  const auto packed = PackedLinear::dense(mx::astype(normal({77, 600}, 3), GetParam()));
  for (const int rows : {2, 5, 6, 17, 64, 300}) {
    expect_rows_equal_alone(normal({rows, 600}, 4), packed);
  }
}

TEST_P(Dense, GivesBackTheRowsOfATable) {
  const Array weight = mx::astype(normal({77, 33}, 5), GetParam());
  const Array ids({76, 0, 15, 16}, {4}, mx::int32);
  expect_same_bits(PackedLinear::dense(weight)->rows(ids),
                   mx::astype(mx::take(weight, ids, 0), mx::float32));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Dense, ::testing::Values(mx::float32, mx::float16, mx::bfloat16));

using LinearTest = KernelTest;

TEST_F(LinearTest, AddsTheBias) {
  const Array bias = normal({77}, 1);
  const Array x = normal({5, 256}, 2);
  const auto with = quantized(77, 256, 64, 4, mx::float32, 3, bias);
  const auto without = quantized(77, 256, 64, 4, mx::float32, 3);
  expect_same_bits(linear(x, with.packed), mx::add(linear(x, without.packed), bias));
  const Array weight = normal({77, 256}, 4);
  expect_same_bits(linear(x, PackedLinear::dense(weight, mx::astype(bias, mx::float16))),
                   mx::add(linear(x, PackedLinear::dense(weight)),
                           mx::astype(mx::astype(bias, mx::float16), mx::float32)));
}

TEST_F(LinearTest, SeveralLayersEqualOneAfterTheOther) {
  const std::vector<Weights> layers{quantized(77, 256, 64, 4, mx::float16, 1).packed,
                                    PackedLinear::dense(normal({40, 256}, 2)),
                                    quantized(16, 256, 32, 8, mx::bfloat16, 3).packed,
                                    quantized(33, 256, 64, 2, mx::float16, 4).packed};
  for (const int rows : {1, 3, 70}) {
    const Array x = normal({rows, 256}, 5);
    std::vector<Array> apart;
    for (const auto& layer : layers) apart.push_back(linear(x, layer));
    expect_same_bits(linear(x, layers), mx::concatenate(apart, -1));
  }
}

TEST_F(LinearTest, TheNumberOfThreadsChangesNothing) {
  const auto layer = quantized(1000, 1024, 64, 4, mx::float16, 1);
  const auto dense = PackedLinear::dense(normal({1000, 1024}, 2));
  for (const int rows : {1, 4, 100}) {
    const Array x = normal({rows, 1024}, 3);
    set_threads(1);
    Array one = linear(x, layer.packed), one_dense = linear(x, dense);
    mx::eval(one, one_dense);
    for (const int count : {2, 5}) {
      set_threads(count);
      expect_same_bits(linear(x, layer.packed), one);
      expect_same_bits(linear(x, dense), one_dense);
    }
  }
}

TEST_F(LinearTest, TakesAnyShapeAndMemoryOrder) {
  const auto packed = PackedLinear::dense(normal({20, 64}, 1));
  const Array x = normal({6, 64}, 2);
  expect_same_bits(mx::reshape(linear(mx::reshape(x, {1, 2, 3, 64}), packed), {6, 20}),
                   linear(x, packed));
  expect_same_bits(mx::reshape(linear(mx::reshape(x, {6, 64}), packed), {6, 20}),
                   linear(x, packed));
  expect_same_bits(linear(mx::transpose(mx::contiguous(mx::transpose(x))), packed),
                   linear(x, packed));
  expect_same_bits(
      linear(mx::broadcast_to(rows_of(x, 0, 1), {3, 64}), packed),
      linear(mx::concatenate({rows_of(x, 0, 1), rows_of(x, 0, 1), rows_of(x, 0, 1)}, 0), packed));
  const Array wide = normal({6, 100}, 3);
  const Array part = mx::slice(wide, {0, 10}, {6, 74});
  expect_same_bits(linear(part, packed), linear(mx::contiguous(part), packed));
  EXPECT_EQ(linear(mx::zeros({0, 64}), packed).shape(), (mx::Shape{0, 20}));
  EXPECT_EQ(linear(mx::reshape(rows_of(x, 0, 1), {64}), packed).shape(), mx::Shape{20});
}

TEST_F(LinearTest, SmallAndLargeNumbersKeepTheirPrecision) {
  const auto layer = quantized(40, 256, 64, 4, mx::float32, 1);
  for (const float scale : {1e-20f, 1e-6f, 1e6f, 1e20f}) {
    const Array x = mx::multiply(normal({3, 256}, 2), Array(scale));
    const Array expected = mx::matmul(x, mx::transpose(layer.plain));
    expect_within(linear(x, layer.packed), expected, affine_bound(x, layer.plain));
  }
  expect_same_bits(linear(mx::zeros({2, 256}), layer.packed), mx::zeros({2, 40}));
}

TEST_F(LinearTest, NanAndInfStayInTheirRow) {
  const auto layer = quantized(40, 256, 64, 4, mx::float32, 1);
  const auto dense = PackedLinear::dense(normal({40, 256}, 2));
  const Array x = normal({8, 256}, 3);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Array spoiled =
        mx::slice_update(x, mx::full({1, 1}, bad), mx::Shape{3, 100}, mx::Shape{4, 101});
    for (const auto& weights : {layer.packed, dense}) {
      const Array y = linear(spoiled, weights), clean = linear(x, weights);
      expect_same_bits(rows_of(y, 0, 3), rows_of(clean, 0, 3));
      expect_same_bits(rows_of(y, 4, 4), rows_of(clean, 4, 4));
      EXPECT_FALSE(mx::any(mx::isfinite(rows_of(y, 3, 1))).item<bool>());
    }
  }
}

TEST_F(LinearTest, SaysWhichShapesItTakes) {
  EXPECT_TRUE(PackedLinear::takes_affine(1, 64, 64, 4));
  EXPECT_TRUE(PackedLinear::takes_affine(49152, 576, 32, 6));
  EXPECT_FALSE(PackedLinear::takes_affine(16, 96, 64, 4));
  EXPECT_FALSE(PackedLinear::takes_affine(16, 64, 16, 4));
  EXPECT_FALSE(PackedLinear::takes_affine(16, 64, 64, 7));
  EXPECT_FALSE(PackedLinear::takes_affine(0, 64, 64, 4));
}

TEST_F(LinearTest, SaysWhatIsWrong) {
  const auto packed = PackedLinear::dense(normal({20, 64}, 1));
  EXPECT_THROW(linear(normal({2, 63}, 2), packed), std::invalid_argument);
  EXPECT_THROW(linear(mx::astype(normal({2, 64}, 2), mx::float16), packed), std::invalid_argument);
  EXPECT_THROW(PackedLinear::dense(mx::zeros({2, 2, 2})), std::invalid_argument);
  const auto q = mx::quantize(normal({16, 128}, 3), 64, 4);
  EXPECT_THROW(PackedLinear::affine(q[0], q[1], q[2], 32, 4), std::invalid_argument);
  Array row = packed->rows(Array({20}, {1}, mx::int32));
  EXPECT_THROW(row.eval(), std::runtime_error);
  Array after = linear(normal({1, 64}, 4), packed);  // the stream goes on
  after.eval();
  EXPECT_EQ(after.size(), 20u);
}

TEST_F(LinearTest, CountsItsBytes) {
  const auto layer = quantized(16, 128, 64, 4, mx::float16, 1);
  EXPECT_EQ(layer.packed->bytes(), 16u * 64 + 16 * 2 * 2 * 2);
  EXPECT_EQ(layer.packed->outputs(), 16);
  EXPECT_EQ(layer.packed->inputs(), 128);
  EXPECT_EQ(PackedLinear::dense(normal({16, 10}, 1))->bytes(), 16u * 10 * 4);
}

}  // namespace
}  // namespace hearth::kernels
