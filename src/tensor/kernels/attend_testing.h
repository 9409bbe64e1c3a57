// The plain twin of attend() and what its tests share.
#pragma once

#include "tensor/kernels/testing.h"

namespace hearth::kernels::testing {

/// The shape of one attention layer.
struct Shape {
  int heads, kv_heads, head_dim;
  int window = 0;
  int rope_dims = -1;  // -1: the whole head
  bool traditional = false;

  int rotated() const { return rope_dims < 0 ? head_dim / 2 * 2 : rope_dims; }
  int width() const { return (heads + 2 * kv_heads) * head_dim; }
};

inline AttendOptions options_of(const Shape& s) {
  AttendOptions o{.heads = s.heads,
                  .kv_heads = s.kv_heads,
                  .head_dim = s.head_dim,
                  .scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim))};
  o.rope.dims = s.rotated();
  o.rope.traditional = s.traditional;
  for (int i = 0; i < o.rope.dims / 2; ++i) {
    o.rope.inv_freq.push_back(std::pow(10000.0f, -2.0f * i / o.rope.dims));
  }
  return o;
}

/// q, k and v of `tokens` tokens side by side, as attend() takes them.
inline Array tokens_of(const Shape& s, int tokens, std::uint64_t seed) {
  return normal({tokens, s.width()}, seed);
}

inline Array columns(const Array& x, int first, int count) {
  return mx::contiguous(mx::slice(x, {0, first}, {x.shape(0), first + count}));
}

/// [T, heads · Dh] -> [1, heads, T, Dh]
inline Array heads_first(const Array& x, int heads, int head_dim) {
  return mx::transpose(mx::reshape(x, {1, x.shape(0), heads, head_dim}), {0, 2, 1, 3});
}

/// Attention whose scores are capped: softmax(c · tanh(q·k / c)) · v -> [T, H · Dh]
inline Array capped_attention(const Shape& s, const Array& q, const Array& k, const Array& v,
                              const Array& mask, const AttendOptions& o) {
  const int repeats = s.heads / s.kv_heads;
  const Array keys = mx::repeat(k, repeats, 1), values = mx::repeat(v, repeats, 1);
  const Array scaled = mx::matmul(q * Array(o.scale), mx::swapaxes(keys, -1, -2));
  const Array capped = Array(o.softcap) * mx::tanh(scaled / Array(o.softcap));
  const Array seen = mx::where(mask, capped, Array(-1e30f));
  const Array out = mx::matmul(mx::softmax(seen, -1), values);
  return mx::reshape(mx::transpose(out, {0, 2, 1, 3}), {q.shape(2), s.heads * s.head_dim});
}

/// What attend() computes for a sequence from its first token on, out of MLX's own operations.
inline Array plain_attention(const Shape& s, const Array& qkv, const AttendOptions& o) {
  const int q_width = s.heads * s.head_dim, kv_width = s.kv_heads * s.head_dim;
  const auto turned = [&](Array x, int heads, const std::optional<Array>& norm) {
    x = heads_first(x, heads, s.head_dim);
    const auto normed = [&](const Array& y, bool now) {
      return norm && now ? mx::fast::rms_norm(y, *norm, o.norm_eps) : y;
    };
    x = normed(x, !o.norm_turned);
    if (o.rope.dims > 0) {
      x = mx::fast::rope(x, o.rope.dims, o.rope.traditional, 10000.0f, o.rope.scale, 0);
    }
    return normed(x, o.norm_turned);
  };
  const Array q = turned(columns(qkv, 0, q_width), s.heads, o.q_norm);
  const Array k = turned(columns(qkv, q_width, kv_width), s.kv_heads, o.k_norm);
  const Array v = heads_first(columns(qkv, q_width + kv_width, kv_width), s.kv_heads, s.head_dim);
  const int tokens = qkv.shape(0);
  const Array at = mx::expand_dims(mx::arange(tokens), 1);
  const Array from = mx::expand_dims(mx::arange(tokens), 0);
  Array mask = mx::greater_equal(at, from);
  if (s.window > 0) {
    mask = mx::logical_and(mask, mx::less(at, mx::add(from, Array(s.window))));
  }
  if (o.softcap > 0) return capped_attention(s, q, k, v, mask, o);
  const Array out = mx::fast::scaled_dot_product_attention(q, k, v, o.scale, "", mask, o.sinks);
  return mx::reshape(mx::transpose(out, {0, 2, 1, 3}), {tokens, q_width});
}

inline std::shared_ptr<PagedKv> pages_for(const Shape& s) {
  return std::make_shared<PagedKv>(s.kv_heads, s.head_dim, s.window);
}

/// attend() for one row alone.
inline Array attend_row(const Array& qkv, const std::shared_ptr<PagedKv>& kv,
                        const AttendOptions& o) {
  const std::shared_ptr<PagedKv> rows[] = {kv};
  const RowSlice slices[] = {{0, qkv.shape(0)}};
  Array out = attend(qkv, rows, slices, o);
  out.eval();
  return out;
}

/// attend_row() for parts of a sequence, the outputs one after the other.
inline Array attend_in_parts(const Array& qkv, const std::vector<int>& parts,
                             const std::shared_ptr<PagedKv>& kv, const AttendOptions& o) {
  std::vector<Array> out;
  int first = 0;
  for (const int length : parts) {
    out.push_back(attend_row(rows_of(qkv, first, length), kv, o));
    first += length;
  }
  return mx::concatenate(out, 0);
}

}  // namespace hearth::kernels::testing
