// Grouped-query self-attention with rotary positions, as the llama-like families share it.
#pragma once

#include <optional>

#include "tensor/cache/layer_cache.h"
#include "tensor/linear.h"
#include "tensor/norm.h"
#include "tensor/rope.h"

namespace hearth::tensor {

struct AttentionSettings {
  int dims = 0;      // D
  int heads = 0;     // H
  int kv_heads = 0;  // Hk, divides H
  int head_dim = 0;  // Dh
  float scale = 0;   // of q·k
  bool qkv_bias = false;
  bool output_bias = false;
  // Per-head RMSNorm of queries and keys before rotation (q_norm, k_norm); none when absent.
  struct HeadNorm {
    float eps;
    RmsNorm::Stored stored;
  };
  std::optional<HeadNorm> head_norm;
};

/// Source: arXiv 2305.13245 (grouped queries); mlx-lm's Attention of llama, qwen2, qwen3, gemma3.
class SelfAttention {
 public:
  SelfAttention(const Weights& w, const AttentionSettings& s, Rope rope);
  /// x [1, T, D] -> [1, T, D]; writes each row's keys and values
  Array operator()(const Array& x, LayerCache cache) const;

 private:
  Array on_kernels(const Array& x, const LayerCache& cache) const;

  AttentionSettings s_;
  Linear q_proj_, k_proj_, v_proj_, o_proj_;
  std::optional<RmsNorm> q_norm_, k_norm_;
  Rope rope_;
};

}  // namespace hearth::tensor
