#include "models/gated_delta_net.h"

#include <cmath>

namespace hearth::models {

namespace mx = mlx::core;
using tensor::Shape;
using tensor::Weights;

namespace {

/// Channels [from, from + heads · dim) as heads. x [1, L, C] -> [1, L, heads, dim]
Array heads_of(const Array& x, int from, int heads, int dim) {
  const auto part = mx::slice(x, {0, 0, from}, {1, x.shape(1), from + heads * dim});
  return mx::reshape(part, {1, x.shape(1), heads, dim});
}

/// How much of the state each token leaves. Source: mlx-lm models/gated_delta.py, compute_g.
Array decay(const Array& a_log, const Array& a, const Array& dt_bias) {
  const auto softplus = mx::logaddexp(a + dt_bias, Array(0.0f, a.dtype()));
  return mx::exp(-mx::exp(mx::astype(a_log, mx::float32)) * softplus);
}

}  // namespace

CacheSpec GatedDeltaNetSettings::cache() const {
  const std::size_t tail = std::size_t(kernel - 1) * channels();
  // The state is of float32, twice as wide as the numbers that sizes are counted in.
  const std::size_t state = std::size_t{2} * value_heads * value_dim * key_dim;
  return {.states = 2, .state_size = tail + state};
}

GatedDeltaNet::GatedDeltaNet(const Weights& w, const GatedDeltaNetSettings& s)
    : s_(s), in_proj_qkv_(w["in_proj_qkv"], s.channels(), s.dims),
      in_proj_z_(w["in_proj_z"], s.value_heads * s.value_dim, s.dims),
      in_proj_b_(w["in_proj_b"], s.value_heads, s.dims),
      in_proj_a_(w["in_proj_a"], s.value_heads, s.dims),
      out_proj_(w["out_proj"], s.dims, s.value_heads * s.value_dim),
      conv1d_(w["conv1d"], s.channels(), s.kernel, /*bias=*/false),
      norm_(w["norm"], s.value_dim, s.eps), a_log_(w.take("A_log", {s.value_heads})),
      dt_bias_(w.take("dt_bias", {s.value_heads})), execution_(w.execution()) {
  if (execution_ == tensor::Execution::kernels) dt_bias_ = mx::astype(dt_bias_, mx::float32);
}

Array GatedDeltaNet::mixed(const Array& qkv, const Array& a, const Array& b,
                           tensor::StateCache& state) const {
  const int keys = s_.key_heads * s_.key_dim;
  const auto conv = conv1d_(qkv, state, 0);
  const auto active = conv * mx::sigmoid(conv);
  const double scale = std::pow(s_.key_dim, -0.5);
  const auto unit = [&](int from, double times) {
    const auto x = heads_of(active, from, s_.key_heads, s_.key_dim);
    const auto eps = static_cast<float>(1e-6 * (scale * scale));
    return tensor::times(tensor::unit_norm(x, eps, execution_), times);
  };
  auto [y, after] = tensor::gated_delta(unit(0, scale * scale), unit(keys, scale),
                                        heads_of(active, 2 * keys, s_.value_heads, s_.value_dim),
                                        decay(a_log_, a, dt_bias_), mx::sigmoid(b), state.get(1));
  state.set(1, after);
  state.advance(qkv.shape(1));
  return mx::reshape(y, {1, qkv.shape(1), s_.value_heads * s_.value_dim});
}

/// silu(z) · norm(y), in float32. Source: mlx-lm models/activations.py, precise_swiglu.
Array GatedDeltaNet::gated_norm(const Array& y, const Array& z) const {
  const Shape by_head{1, y.shape(1), s_.value_heads, s_.value_dim};
  const auto heads = mx::reshape(y, by_head);
  const auto gate = mx::astype(mx::reshape(z, by_head), mx::float32);
  const auto normalised = mx::astype(norm_(heads), mx::float32);
  return mx::reshape(mx::astype(gate * mx::sigmoid(gate) * normalised, y.dtype()), y.shape());
}

Array GatedDeltaNet::operator()(const Array& x, tensor::LayerCache cache) const {
  const auto y = cache.by_row({in_proj_qkv_(x), in_proj_a_(x), in_proj_b_(x)},
                              [this](tensor::KvCache& row, const std::vector<Array>& in) {
                                return mixed(in[0], in[1], in[2], tensor::StateCache::of(row));
                              });
  return out_proj_(gated_norm(y, in_proj_z_(x)));
}

}  // namespace hearth::models
