#include "models/mla.h"

#include "tensor/cache/rotating.h"

namespace hearth::models {

namespace mx = mlx::core;
using tensor::Execution;
using tensor::Shape;
using tensor::Weights;

namespace {

/// x[..., from:to]
Array part(const Array& x, int from, int to) {
  Shape start(x.ndim(), 0), stop = x.shape();
  start.back() = from;
  stop.back() = to;
  return mx::slice(x, start, stop);
}

Array of_head(const Array& all, int head) {
  return mx::squeeze(mx::slice(all, {head, 0, 0}, {head + 1, all.shape(1), all.shape(2)}), 0);
}

}  // namespace

HeadLinear::HeadLinear(const Weights& w, int heads, int outputs, int inputs) {
  if (const auto quantization = w.quantization(inputs)) {
    quantized_.emplace(w, Shape{heads, outputs, inputs}, *quantization);
  } else {
    weight_ = tensor::take_float(w, {heads, outputs, inputs});
  }
  if (w.execution() != Execution::kernels || !w.faults().empty()) return;
  const auto all = quantized_ ? quantized_->dequantized(mx::float32) : *weight_;
  for (int h = 0; h < heads; ++h) {
    packed_.push_back(kernels::PackedLinear::dense(of_head(all, h)));
  }
  weight_.reset();
  quantized_.reset();
}

Array HeadLinear::operator()(const Array& x, bool transposed) const {
  if (!quantized_) {
    return mx::matmul(x, transposed ? mx::swapaxes(*weight_, -1, -2) : *weight_);
  }
  const auto& [group_size, bits, mode] = quantized_->quantization;
  return mx::quantized_matmul(x, quantized_->weight, quantized_->scales, quantized_->biases,
                              transposed, group_size, bits, mode);
}

Array HeadLinear::by_token(const Array& x) const {
  const int tokens = x.shape(0), heads = x.shape(1);
  const auto each = mx::broadcast_to(mx::arange(heads), {tokens, heads});
  return kernels::expert_linear(x, each, packed_);
}

LatentAttention::LatentAttention(const Weights& w, const MlaSettings& s, tensor::Rope rope)
    : s_(s), kv_a_proj_(w["kv_a_proj_with_mqa"], {s.kv_rank, s.rope_dim}, s.dims, s.bias),
      kv_a_layernorm_(w["kv_a_layernorm"], s.kv_rank, s.norm_eps),
      embed_q_(w["embed_q"], s.heads, s.kv_rank, s.nope_dim),
      unembed_out_(w["unembed_out"], s.heads, s.value_dim, s.kv_rank),
      o_proj_(w["o_proj"], s.dims, s.heads * s.value_dim, s.bias), rope_(std::move(rope)) {
  const int q_width = s.heads * (s.nope_dim + s.rope_dim);
  if (s.q_rank == 0) {
    q_proj_.emplace(w["q_proj"], q_width, s.dims);
    return;
  }
  q_a_proj_.emplace(w["q_a_proj"], s.q_rank, s.dims, s.bias);
  q_a_layernorm_.emplace(w["q_a_layernorm"], s.q_rank, s.norm_eps);
  q_b_proj_.emplace(w["q_b_proj"], q_width, s.q_rank);
}

Array LatentAttention::queries(const Array& x) const {
  return q_proj_ ? (*q_proj_)(x) : (*q_b_proj_)((*q_a_layernorm_)((*q_a_proj_)(x)));
}

/// @param q [1, L, H·(nope + rope)], latent [1, L, R], k_pe [1, L, rope] of a row -> [1, L, H·Dv]
Array LatentAttention::plain_row(tensor::KvCache& row, const Array& q, const Array& latent,
                                 const Array& k_pe) const {
  const int length = q.shape(1), offset = row.offset();
  const auto by_head = tensor::heads_first(tensor::split_heads(q, s_.heads));
  auto q_nope = part(by_head, 0, s_.nope_dim);
  const auto q_pe = rope_(part(by_head, s_.nope_dim, by_head.shape(-1)), offset);
  const auto turned = rope_(tensor::heads_first(tensor::split_heads(k_pe, 1)), offset);
  const auto past = row.append(mx::expand_dims(latent, 1), turned);
  auto scores = mx::matmul(tensor::times(q_pe, s_.scale), mx::swapaxes(past.values, -1, -2));
  if (past.causal) {
    const int size = past.keys.shape(2);
    const auto least = Array(float(mx::finfo(scores.dtype()).min), scores.dtype());
    scores = mx::where(tensor::sliding_mask(length, size - length, size), scores, least);
  }
  auto k = past.keys, v = past.keys;
  if (length == 1) {
    q_nope = embed_q_(q_nope);
  } else {
    k = embed_q_(past.keys, /*transposed=*/false);
    v = unembed_out_(past.keys);
  }
  auto out = mx::fast::scaled_dot_product_attention(q_nope, k, v, s_.scale, "", scores);
  if (length == 1) out = unembed_out_(out);
  return tensor::merge_heads(out);
}

/// The latent is key and value of a single head; what turns comes before it. The values are padded
/// to the keys' width.
Array LatentAttention::on_kernels(const Array& q, const Array& latent, const Array& k_pe,
                                  const tensor::LayerCache& cache) const {
  const int tokens = q.shape(1), width = s_.rope_dim + s_.kv_rank;
  const auto by_head = mx::reshape(q, {tokens, s_.heads, s_.nope_dim + s_.rope_dim});
  const auto nope = embed_q_.by_token(mx::contiguous(part(by_head, 0, s_.nope_dim)));
  const auto pe = part(by_head, s_.nope_dim, by_head.shape(-1));
  const auto keys = mx::concatenate({k_pe, latent}, -1);
  const auto values = mx::concatenate({mx::zeros_like(k_pe), latent}, -1);
  const kernels::AttendOptions options{.heads = s_.heads,
                                       .kv_heads = 1,
                                       .head_dim = width,
                                       .scale = s_.scale,
                                       .rope = rope_.table()};
  const auto out = mx::reshape(kernels::attend(mx::concatenate({pe, nope}, -1), keys, values,
                                               cache.pages(), cache.rows(), options),
                               {tokens, s_.heads, width});
  const auto heads = unembed_out_.by_token(mx::contiguous(part(out, s_.rope_dim, width)));
  return mx::reshape(heads, {1, tokens, s_.heads * s_.value_dim});
}

Array LatentAttention::operator()(const Array& x, tensor::LayerCache cache) const {
  const auto q = queries(x);
  const auto kv = kv_a_proj_(x);
  const auto latent = kv_a_layernorm_(kv[0]);
  if (cache.paged()) return o_proj_(on_kernels(q, latent, kv[1], cache));
  return o_proj_(
      cache.by_row({q, latent, kv[1]}, [this](tensor::KvCache& row, const std::vector<Array>& in) {
        return plain_row(row, in[0], in[1], in[2]);
      }));
}

void split_kv_b(const Weights& attention, const MlaSettings& s) {
  const auto from = attention["kv_b_proj"];
  if (!from.has("weight")) return;
  const auto quantization = from.quantization(s.kv_rank);
  const Shape shape{s.heads * (s.nope_dim + s.value_dim), s.kv_rank};
  const auto whole = quantization
                         ? [&] {
                             const tensor::QuantizedWeight packed(from, shape, *quantization);
                             return packed.dequantized(packed.scales.dtype());
                           }()
                         : tensor::take_float(from, shape);
  attention.rewrite([&](std::string_view name, const Array& x) {
    return name.find(".kv_b_proj.") == name.npos ? std::optional(x) : std::nullopt;
  });
  const auto by_head = mx::reshape(whole, {s.heads, s.nope_dim + s.value_dim, s.kv_rank});
  const auto put = [&](const char* name, const Array& x) {
    if (!quantization) return attention[name].put("weight", x);
    const auto parts =
        mx::quantize(x, quantization->group_size, quantization->bits, quantization->mode);
    attention[name].put("weight", parts[0]);
    attention[name].put("scales", parts[1]);
    if (parts.size() > 2) attention[name].put("biases", parts[2]);
  };
  put("embed_q", mx::contiguous(mx::swapaxes(
                     mx::slice(by_head, {0, 0, 0}, {s.heads, s.nope_dim, s.kv_rank}), -1, -2)));
  put("unembed_out", mx::contiguous(mx::slice(by_head, {0, s.nope_dim, 0}, by_head.shape())));
}

}  // namespace hearth::models
