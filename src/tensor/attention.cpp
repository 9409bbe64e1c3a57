#include "tensor/attention.h"

namespace hearth::tensor {

SelfAttention::SelfAttention(const Weights& w, const AttentionSettings& s, Rope rope)
    : s_(s), q_proj_(w["q_proj"], s.heads * s.head_dim, s.dims, s.qkv_bias),
      k_proj_(w["k_proj"], s.kv_heads * s.head_dim, s.dims, s.qkv_bias),
      v_proj_(w["v_proj"], s.kv_heads * s.head_dim, s.dims, s.qkv_bias),
      o_proj_(w["o_proj"], s.dims, s.heads * s.head_dim, s.output_bias), rope_(std::move(rope)) {
  if (!s.head_norm) return;
  q_norm_.emplace(w["q_norm"], s.head_dim, s.head_norm->eps, s.head_norm->stored);
  k_norm_.emplace(w["k_norm"], s.head_dim, s.head_norm->eps, s.head_norm->stored);
}

Array SelfAttention::operator()(const Array& x, LayerCache cache) const {
  if (q_proj_.matrix().packed()) return on_kernels(x, cache);
  auto q = split_heads(q_proj_(x), s_.heads);     // [1, T, H,  Dh]
  auto k = split_heads(k_proj_(x), s_.kv_heads);  // [1, T, Hk, Dh]
  const auto v = split_heads(v_proj_(x), s_.kv_heads);
  if (q_norm_) {
    q = (*q_norm_)(q);
    k = (*k_norm_)(k);
  }
  return o_proj_(
      merge_heads(cache.attend(heads_first(q), heads_first(k), heads_first(v), rope_, s_.scale)));
}

Array SelfAttention::on_kernels(const Array& x, const LayerCache& cache) const {
  const std::shared_ptr<const kernels::PackedLinear> qkv[] = {
      q_proj_.matrix().packed(), k_proj_.matrix().packed(), v_proj_.matrix().packed()};
  kernels::AttendOptions options{.heads = s_.heads,
                                 .kv_heads = s_.kv_heads,
                                 .head_dim = s_.head_dim,
                                 .scale = s_.scale,
                                 .rope = rope_.table()};
  if (q_norm_) {
    options.q_norm = q_norm_->weight();
    options.k_norm = k_norm_->weight();
    options.norm_eps = q_norm_->eps();
  }
  const auto attended = cache.attend(kernels::linear(x, qkv), options);
  return o_proj_(mx::reshape(attended, {1, x.shape(1), s_.heads * s_.head_dim}));
}

}  // namespace hearth::tensor
