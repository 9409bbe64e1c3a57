// What the kernels' tests share: arrays of a seed, exact and bounded comparison, rows of a matrix.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/kernels/kernels.h"

namespace hearth::kernels::testing {
namespace mx = mlx::core;

/// Runs on the CPU, and gives the threads back as they were.
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = mx::default_device();
    mx::set_default_device(mx::Device(mx::Device::cpu));
  }
  void TearDown() override {
    set_threads(0);
    mx::set_default_device(device_);
  }

 private:
  mx::Device device_{mx::Device::cpu};
};

/// Normal numbers; the same for the same seed and shape.
inline Array normal(const mx::Shape& shape, std::uint64_t seed) {
  Array x = mx::random::normal(shape, mx::float32, mx::random::key(seed));
  x.eval();
  return x;
}

/// Rows [first, first + count) of a matrix.
inline Array rows_of(const Array& x, int first, int count) {
  return mx::contiguous(mx::slice(x, {first, 0}, {first + count, x.shape(1)}));
}

inline float largest(const Array& x) { return mx::max(x).item<float>(); }

inline float root_mean_square(const Array& x) {
  return mx::sqrt(mx::mean(mx::square(x))).item<float>();
}

/// Every |a - b| <= bound, which may be an array; NaN fails.
inline void expect_within(const Array& a, const Array& b, const Array& bound) {
  ASSERT_EQ(a.shape(), b.shape());
  const Array excess = mx::where(mx::isfinite(a), mx::subtract(mx::abs(mx::subtract(a, b)), bound),
                                 Array(std::numeric_limits<float>::infinity()));
  EXPECT_LE(largest(excess), 0.0f);
}

/// The same bits, NaN and the sign of zero included.
inline void expect_same_bits(Array a, Array b) {
  a = mx::contiguous(a);
  b = mx::contiguous(b);
  mx::eval(a, b);
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.nbytes(), b.nbytes());
  EXPECT_EQ(std::memcmp(a.data<char>(), b.data<char>(), a.nbytes()), 0)
      << "differ by up to " << largest(mx::abs(mx::subtract(a, b)));
}

}  // namespace hearth::kernels::testing
