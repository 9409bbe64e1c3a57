// The kernels on an NVIDIA device against plain MLX operations in float32, and each row alone
// against the same row among others.
#include "tensor/kernels/cuda/cuda.h"

#include <gmock/gmock.h>

#include <cmath>
#include <tuple>

#include "tensor/kernels/testing.h"

namespace hearth::kernels {
namespace {

using testing::expect_same_bits;
using testing::expect_within;
using testing::normal;
namespace mx = mlx::core;

/// [from, to) of the first axis.
Array rows_between(const Array& x, int from, int to) {
  return mx::contiguous(mx::slice(x, {from, 0}, {to, x.shape(1)}));
}

Array in_bfloat16(const Array& x) { return mx::astype(mx::astype(x, mx::bfloat16), mx::float32); }

TEST(Cuda, IsActive) { ASSERT_TRUE(cuda::active()); }

struct Layer {
  std::shared_ptr<const PackedLinear> packed;
  Array plain;  // [N, K] f32
};

/// bits 16: bfloat16
Layer layer(int n, int k, int bits, int group, mx::Dtype scale_type, std::uint64_t seed,
            const std::optional<Array>& bias = {}) {
  const Array w = normal({n, k}, seed);
  if (bits == 16) {
    const Array rounded = mx::astype(w, mx::bfloat16);
    return {PackedLinear::dense(rounded, bias), mx::astype(rounded, mx::float32)};
  }
  const auto q = mx::quantize(w, group, bits);
  const Array scales = mx::astype(q[1], scale_type), biases = mx::astype(q[2], scale_type);
  return {PackedLinear::affine(q[0], scales, biases, group, bits, bias),
          mx::dequantize(q[0], mx::astype(scales, mx::float32), mx::astype(biases, mx::float32),
                         group, bits, "affine", {}, mx::float32)};
}

/// On the CPU, whose float32 sums do not go through tf32.
Array product(const Array& x, const Array& w) {
  const mx::Device cpu(mx::Device::cpu);
  return mx::matmul(x, mx::transpose(w, cpu), cpu);
}

/// Activations are rounded to bfloat16 here too; what is left is the order of float32 sums.
Array sums_bound(const Array& x, const Array& w) {
  return mx::multiply(product(mx::abs(x), mx::abs(w)), Array(2e-5f));
}

struct Products : ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Products, AreWithinTheBoundOfThePlainOnes) {
  const auto [bits, group] = GetParam();
  for (const auto type : {mx::bfloat16, mx::float16}) {
    for (const int n : {1, 40, 129}) {
      for (const int k : {128, 640, 1472 / 64 * 64}) {
        if (k % group != 0) continue;
        const auto w = layer(n, k, bits, group, type, 1);
        for (const int rows : {1, 3, 8, 9, 17, 32, 33, 150}) {
          SCOPED_TRACE(::testing::Message() << n << "x" << k << " of " << rows);
          const Array x = normal({rows, k}, 2);
          const Array rounded = in_bfloat16(x);
          expect_within(linear(x, w.packed), product(rounded, w.plain),
                        sums_bound(rounded, w.plain));
        }
      }
    }
  }
}

TEST_P(Products, ARowIsTheSameAloneAndAmongOthers) {
  const auto [bits, group] = GetParam();
  const auto w = layer(200, 1152, bits, group, mx::bfloat16, 3);
  const Array x = normal({300, 1152}, 4);
  const Array all = linear(x, w.packed);
  for (const int rows : {1, 7, 12, 32, 64, 129}) {
    for (int from = 0; from + rows <= 300; from += 83) {
      SCOPED_TRACE(::testing::Message() << rows << " from " << from);
      expect_same_bits(linear(rows_between(x, from, from + rows), w.packed),
                       rows_between(all, from, from + rows));
    }
  }
}

TEST_P(Products, JoinedLayersAndSumsAreTheSeparateOnes) {
  const auto [bits, group] = GetParam();
  const Array bias = normal({48}, 5);
  const auto a = layer(48, 256, bits, group, mx::bfloat16, 6, bias);
  const auto b = layer(80, 256, bits, group, mx::bfloat16, 7);
  const std::shared_ptr<const PackedLinear> both[] = {a.packed, b.packed};
  for (const int rows : {2, 20, 70}) {
    const Array x = normal({rows, 256}, 8), residual = normal({rows, 48}, 9);
    const Array ya = linear(x, a.packed), yb = linear(x, b.packed);
    expect_same_bits(linear(x, both), mx::concatenate({ya, yb}, 1));
    expect_same_bits(linear_plus(residual, x, a.packed), mx::add(ya, residual));
    const Array rounded = in_bfloat16(x);
    expect_within(ya, mx::add(product(rounded, a.plain), bias),
                  mx::add(sums_bound(rounded, a.plain), Array(1e-5f)));
  }
}

TEST_P(Products, RowsOfTheTableAreThePlainOnes) {
  const auto [bits, group] = GetParam();
  const auto w = layer(70, 256, bits, group, mx::bfloat16, 10);
  const Array ids({0, 69, 5, 16, 33}, mx::int32);
  expect_within(w.packed->rows(ids), mx::take(w.plain, ids, 0), Array(1e-6f));
}

INSTANTIATE_TEST_SUITE_P(Weights, Products,
                         ::testing::Values(std::tuple(4, 64), std::tuple(4, 32), std::tuple(4, 128),
                                           std::tuple(8, 64), std::tuple(8, 32), std::tuple(3, 64),
                                           std::tuple(6, 64), std::tuple(16, 64)),
                         [](const auto& of) {
                           return "q" + std::to_string(std::get<0>(of.param)) + "g" +
                                  std::to_string(std::get<1>(of.param));
                         });

TEST(CudaRows, NormsAndGatesAreThePlainOnes) {
  for (const int width : {64, 576, 4096, 10240}) {
    const Array x = normal({5, width}, 11), y = normal({5, width}, 12), w = normal({width}, 13);
    const Array sum = mx::add(x, y);
    const auto both = add_rms_norm(x, y, w, 1e-5f);
    expect_within(both.first, sum, Array(0.0f));
    expect_within(both.second, mx::fast::rms_norm(sum, w, 1e-5f), Array(2e-5f));
    expect_within(rms_norm(x, {}, 1e-5f), mx::fast::rms_norm(x, std::nullopt, 1e-5f), Array(1e-5f));
    const Array silu = mx::multiply(mx::multiply(x, mx::sigmoid(x)), y);
    expect_within(gated(x, y, Activation::silu), silu, Array(2e-5f));
    expect_same_bits(gated(mx::concatenate({x, y}, 1), Activation::silu),
                     gated(x, y, Activation::silu));
  }
}

TEST(CudaRows, WhatANodeLaysOutIsWhatAProductLaysOut) {
  const auto w = layer(64, 576, 4, 64, mx::bfloat16, 14);
  const Array x = normal({3, 576}, 15);
  const Array normed = rms_norm(x, {}, 1e-5f);
  const Array fused = linear(normed, w.packed);
  Array apart = mx::contiguous(mx::add(normed, Array(0.0f)));
  mx::eval(apart);
  expect_same_bits(fused, linear(apart, w.packed));
}

struct Heads {
  int heads, kv_heads, width, window;
};

struct Attention : ::testing::TestWithParam<Heads> {
  const Heads h = GetParam();

  AttendOptions options() const {
    AttendOptions o{.heads = h.heads,
                    .kv_heads = h.kv_heads,
                    .head_dim = h.width,
                    .scale = 1 / std::sqrt(float(h.width)),
                    .rope = {.dims = h.width}};
    for (int i = 0; i < h.width / 2; ++i) {
      o.rope.inv_freq.push_back(std::pow(10000.0f, -2.0f * i / h.width));
    }
    return o;
  }
  cuda::DeviceKv empty(int room) const { return cuda::with_room({}, room, h.kv_heads, h.width); }
  int columns() const { return (h.heads + 2 * h.kv_heads) * h.width; }

  /// The tokens of qkv in steps of these lengths.
  Array in_steps(const Array& qkv, std::span<const int> lengths) const {
    auto kv = empty(1024);
    cuda::DeviceKv* row = &kv;
    std::vector<Array> out;
    int from = 0;
    for (const int length : lengths) {
      const RowSlice slice{0, length};
      out.push_back(cuda::attend(rows_between(qkv, from, from + length), {&row, 1}, {&slice, 1},
                                 options(), h.window));
      mx::eval(out.back());
      from += length;
    }
    return mx::concatenate(out, 0);
  }

  /// In float32 with keys and values as float16.
  Array plain(const Array& qkv) const {
    const int tokens = qkv.shape(0);
    const auto part = [&](int first, int heads) {
      const Array x = mx::slice(qkv, {0, first * h.width}, {tokens, (first + heads) * h.width});
      return mx::transpose(mx::reshape(x, {1, tokens, heads, h.width}), {0, 2, 1, 3});
    };
    const auto turned = [&](const Array& x) {
      return mx::astype(
          mx::astype(mx::fast::rope(x, h.width, false, 10000.0f, 1.0f, 0), mx::float16),
          mx::float32);
    };
    const Array q = turned(part(0, h.heads)), k = turned(part(h.heads, h.kv_heads));
    const Array v =
        mx::astype(mx::astype(part(h.heads + h.kv_heads, h.kv_heads), mx::float16), mx::float32);
    const auto all = [&](const Array& x) { return mx::repeat(x, h.heads / h.kv_heads, 1); };
    const Array scores =
        mx::sum(mx::multiply(mx::expand_dims(q, 3), mx::expand_dims(all(k), 2)), -1);
    const Array at = mx::expand_dims(mx::arange(tokens), 1),
                key = mx::expand_dims(mx::arange(tokens), 0);
    Array seen = mx::less_equal(key, at);
    if (h.window) seen = mx::logical_and(seen, mx::greater(key, mx::subtract(at, Array(h.window))));
    const Array weights =
        mx::softmax(mx::where(seen, mx::multiply(scores, Array(1 / std::sqrt(float(h.width)))),
                              Array(-INFINITY)),
                    -1);
    const Array o =
        mx::sum(mx::multiply(mx::expand_dims(weights, -1), mx::expand_dims(all(v), 2)), 3);
    return mx::reshape(mx::transpose(o, {0, 2, 1, 3}), {tokens, h.heads * h.width});
  }
};

TEST_P(Attention, IsWithinTheBoundOfThePlainOne) {
  const Array qkv = normal({150, columns()}, 20);
  const int once[] = {150};
  // Weights of values rounded to float16, and angles of float32.
  expect_within(in_steps(qkv, once), plain(qkv), Array(4e-3f));
}

TEST_P(Attention, StepsOfAnyLengthGiveTheSameBits) {
  const Array qkv = normal({331, columns()}, 21);
  const int once[] = {331};
  const Array all = in_steps(qkv, once);
  const int some[] = {64, 1, 1, 2, 130, 3, 100, 30};
  expect_same_bits(in_steps(qkv, some), all);
  const std::vector<int> single(331, 1);
  expect_same_bits(in_steps(qkv, single), all);
}

TEST_P(Attention, ARowIsTheSameAloneAndAmongOthers) {
  const int rows = 40;
  std::vector<cuda::DeviceKv> kv;
  std::vector<Array> prompts, alone;
  for (int i = 0; i < rows; ++i) {
    prompts.push_back(normal({3 * i + 2, columns()}, 100 + i));
    const int steps[] = {3 * i + 1, 1};
    alone.push_back(rows_between(in_steps(prompts.back(), steps), 3 * i + 1, 3 * i + 2));
    auto one = empty(128);
    cuda::DeviceKv* row = &one;
    const RowSlice slice{0, 3 * i + 1};
    mx::eval(cuda::attend(rows_between(prompts.back(), 0, 3 * i + 1), {&row, 1}, {&slice, 1},
                          options(), h.window));
    kv.push_back(one);
  }
  std::vector<cuda::DeviceKv*> pointers;
  std::vector<RowSlice> slices;
  std::vector<Array> last;
  for (int i = 0; i < rows; ++i) {
    pointers.push_back(&kv[i]);
    slices.push_back({i, 1});
    last.push_back(rows_between(prompts[i], 3 * i + 1, 3 * i + 2));
  }
  const Array together =
      cuda::attend(mx::concatenate(last, 0), pointers, slices, options(), h.window);
  for (int i = 0; i < rows; ++i) {
    SCOPED_TRACE(i);
    expect_same_bits(rows_between(together, i, i + 1), alone[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention,
                         ::testing::Values(Heads{8, 2, 64, 0}, Heads{9, 3, 64, 0},
                                           Heads{4, 4, 128, 0}, Heads{8, 1, 128, 0},
                                           Heads{4, 2, 64, 100}));

}  // namespace
}  // namespace hearth::kernels
