#include "tensor/attention.h"

namespace hearth::tensor {
namespace {

FusedLinear projections(const Weights& w, const AttentionSettings& s) {
  const int keys = s.kv_heads * s.head_dim;
  std::vector<int> outputs{(s.output_gate ? 2 : 1) * s.heads * s.head_dim, keys, keys};
  if (s.fused) return {w["qkv_proj"], outputs, s.dims, s.qkv_bias};
  return {{w["q_proj"], w["k_proj"], w["v_proj"]}, outputs, s.dims, s.qkv_bias};
}

/// [1, T, H · 2Dh], queries and gate of each head side by side -> one of the two, [1, T, H · Dh]
Array half_of_heads(const Array& x, int heads, int which) {
  const auto by_head = split_heads(x, heads);
  const int dim = by_head.shape(3) / 2;
  auto stop = by_head.shape();
  stop[3] = (which + 1) * dim;
  return mx::reshape(mx::slice(by_head, {0, 0, 0, which * dim}, stop),
                     {x.shape(0), x.shape(1), heads * dim});
}

}  // namespace

SelfAttention::SelfAttention(const Weights& w, const AttentionSettings& s, Rope rope)
    : s_(s), qkv_(projections(w, s)),
      o_proj_(w[s.output_name], s.dims, s.heads * s.head_dim, s.output_bias),
      rope_(std::move(rope)) {
  if (s.sinks) sinks_ = w.take("sinks", {s.heads});
  if (sinks_ && w.execution() == Execution::kernels) sinks_ = mx::astype(*sinks_, mx::float32);
  if (!s.head_norm) return;
  const int q_width = s.whole_norm ? s.heads * s.head_dim : s.head_dim;
  const int k_width = s.whole_norm ? s.kv_heads * s.head_dim : s.head_dim;
  q_norm_.emplace(w[s.norm_names[0]], q_width, s.head_norm->eps, s.head_norm->stored);
  k_norm_.emplace(w[s.norm_names[1]], k_width, s.head_norm->eps, s.head_norm->stored);
}

Array SelfAttention::operator()(const Array& x, LayerCache cache) const {
  if (qkv_.packed() && cache.on_kernels() && !s_.whole_norm && !s_.output_gate) {
    const auto out = cache.attend(qkv_.together(x), options());
    return o_proj_(mx::reshape(out, {1, x.shape(1), s_.heads * s_.head_dim}));
  }
  auto qkv = qkv_(x);
  if (!s_.output_gate) return o_proj_(attended(std::move(qkv), cache));
  const auto gate = half_of_heads(qkv[0], s_.heads, 1);
  qkv[0] = half_of_heads(qkv[0], s_.heads, 0);
  return o_proj_(attended(std::move(qkv), cache) * mx::sigmoid(gate));
}

/// @param qkv  as projected -> [1, T, H · Dh]
Array SelfAttention::attended(std::vector<Array> qkv, LayerCache& cache) const {
  if (s_.whole_norm) {
    qkv[0] = (*q_norm_)(qkv[0]);
    qkv[1] = (*k_norm_)(qkv[1]);
  }
  if (cache.paged()) {
    const auto out =
        kernels::attend(qkv[0], qkv[1], qkv[2], cache.pages(), cache.rows(), options());
    return mx::reshape(out, {1, qkv[0].shape(1), s_.heads * s_.head_dim});
  }
  auto q = split_heads(qkv[0], s_.heads);     // [1, T, H,  Dh]
  auto k = split_heads(qkv[1], s_.kv_heads);  // [1, T, Hk, Dh]
  const auto v = split_heads(qkv[2], s_.kv_heads);
  if (q_norm_ && !s_.whole_norm && !s_.norm_turned) {
    q = (*q_norm_)(q);
    k = (*k_norm_)(k);
  }
  Scoring scoring{.scale = s_.scale, .softcap = s_.softcap, .sinks = sinks_};
  if (s_.norm_turned) {
    scoring.turned = [this](const Array& q, const Array& k) {
      return std::pair{(*q_norm_)(q), (*k_norm_)(k)};
    };
  }
  return merge_heads(cache.attend(heads_first(q), heads_first(k), heads_first(v), rope_, scoring));
}

kernels::AttendOptions SelfAttention::options() const {
  kernels::AttendOptions options{.heads = s_.heads,
                                 .kv_heads = s_.kv_heads,
                                 .head_dim = s_.head_dim,
                                 .scale = s_.scale,
                                 .rope = rope_.table(),
                                 .softcap = s_.softcap,
                                 .sinks = sinks_};
  if (q_norm_ && !s_.whole_norm) {
    options.q_norm = q_norm_->weight();
    options.k_norm = k_norm_->weight();
    options.norm_eps = q_norm_->eps();
    options.norm_turned = s_.norm_turned;
  }
  return options;
}

}  // namespace hearth::tensor
