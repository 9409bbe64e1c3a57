// Grouped-query self-attention with rotary positions, as the llama-like families share it.
#pragma once

#include <array>
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
  std::array<const char*, 2> norm_names{"q_norm", "k_norm"};
  const char* output_name = "o_proj";
  bool output_gate = false;  // q_proj holds a gate beside each head, which opens the output
  bool norm_turned = false;  // after rotation instead of before
  bool whole_norm = false;   // that norm is over all heads together, as the projections leave them
  bool fused = false;        // one qkv_proj
  float softcap = 0;         // of the scores; 0: none
  bool sinks = false;        // a logit a head that takes weight and gives nothing
};

/// Source: arXiv 2305.13245 (grouped queries); mlx-lm's Attention of llama, qwen2, qwen3, gemma3.
class SelfAttention {
 public:
  SelfAttention(const Weights& w, const AttentionSettings& s, Rope rope);
  /// x [1, T, D] -> [1, T, D]; writes each row's keys and values
  Array operator()(const Array& x, LayerCache cache) const;

 private:
  Array attended(std::vector<Array> qkv, LayerCache& cache) const;
  kernels::AttendOptions options() const;

  AttentionSettings s_;
  FusedLinear qkv_;
  Linear o_proj_;
  std::optional<RmsNorm> q_norm_, k_norm_;
  std::optional<Array> sinks_;  // [H]
  Rope rope_;
};

}  // namespace hearth::tensor
