// Multi-head latent attention: keys and values of all heads out of one small vector a token.
#pragma once

#include "models/decoder.h"
#include "tensor/kernels/kernels.h"

namespace hearth::models {

struct MlaSettings {
  int dims = 0;       // D
  int heads = 0;      // H
  int q_rank = 0;     // of the queries' own latent; 0: none
  int kv_rank = 0;    // R, of the latent that is cached
  int nope_dim = 0;   // of a head, that does not turn
  int rope_dim = 0;   // of a head, that turns
  int value_dim = 0;  // of a head
  float scale = 1;    // of q·k
  float norm_eps = 1e-6f;
  bool bias = false;

  CacheSpec cache() const { return {.kv_heads = 1, .head_dim = kv_rank + rope_dim}; }
};

/// One matrix a head. Source: mlx-lm models/mla.py, MultiLinear.
class HeadLinear {
 public:
  HeadLinear(const tensor::Weights& w, int heads, int outputs, int inputs);
  /// x [1, H or 1, L, K] -> [1, H, L, N]; @param transposed false: [1, .., L, N] -> [1, H, L, K]
  Array operator()(const Array& x, bool transposed = true) const;
  /// On the kernels: x [T, H, K] -> [T, H, N]
  Array by_token(const Array& x) const;

 private:
  std::optional<Array> weight_;
  std::optional<tensor::QuantizedWeight> quantized_;
  kernels::PackedExperts packed_;
};

/// Source: mlx-lm models/deepseek_v3.py, DeepseekV3Attention; arXiv 2405.04434.
class LatentAttention {
 public:
  LatentAttention(const tensor::Weights& w, const MlaSettings& s, tensor::Rope rope);
  /// x [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const;

 private:
  Array queries(const Array& x) const;
  Array plain_row(tensor::KvCache& row, const Array& q, const Array& latent,
                  const Array& k_pe) const;
  Array on_kernels(const Array& q, const Array& latent, const Array& k_pe,
                   const tensor::LayerCache& cache) const;

  MlaSettings s_;
  std::optional<tensor::Linear> q_proj_, q_a_proj_, q_b_proj_;
  std::optional<tensor::RmsNorm> q_a_layernorm_;
  tensor::FusedLinear kv_a_proj_;
  tensor::RmsNorm kv_a_layernorm_;
  HeadLinear embed_q_, unembed_out_;
  tensor::Linear o_proj_;
  tensor::Rope rope_;
};

/// Makes embed_q and unembed_out of a checkpoint's kv_b_proj, as mlx-lm's sanitize does.
void split_kv_b(const tensor::Weights& attention, const MlaSettings& s);

}  // namespace hearth::models
