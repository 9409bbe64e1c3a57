// The attention of Gemma 4, and the fields of its config.
#pragma once

#include <optional>
#include <vector>

#include "models/config.h"
#include "models/model.h"
#include "tensor/linear.h"
#include "tensor/norm.h"

namespace hearth::models {

/// mlx-lm's ModelArgs of gemma4_text with its defaults.
struct Gemma4Config {
  int hidden_size, num_hidden_layers, intermediate_size, num_attention_heads, head_dim;
  int global_head_dim, vocab_size, vocab_size_per_layer_input, num_key_value_heads;
  int num_global_key_value_heads, num_kv_shared_layers, hidden_size_per_layer_input;
  int sliding_window, max_position_embeddings, num_experts, top_k_experts, moe_intermediate_size;
  float rms_norm_eps, final_logit_softcapping;
  bool rope_traditional, attention_k_eq_v, use_double_wide_mlp, enable_moe_block;
  bool tie_word_embeddings;
  std::vector<bool> slides;  // by layer
  Json rope_parameters;      // by kind of layer

  /// @throws std::invalid_argument for values that do not fit together
  explicit Gemma4Config(const Json& config);

  /// The first layer without keys and values of its own.
  int first_shared() const { return num_hidden_layers - num_kv_shared_layers; }
  /// The layer whose keys and values this one attends to: itself, or the last one of its kind.
  int donor(int layer) const;
  bool key_is_value(int layer) const { return attention_k_eq_v && !slides[layer]; }
  int kv_heads(int layer) const;
  int head_size(int layer) const;
  bool wide(int layer) const {
    return use_double_wide_mlp && first_shared() > 0 && layer >= first_shared();
  }
  tensor::RmsNorm norm(const tensor::Weights& w) const { return {w, hidden_size, rms_norm_eps}; }
};

/// Norms on queries, keys and, without a weight, values; unscaled scores. Source: mlx-lm
/// models/gemma4_text.py, Attention.
class Gemma4Attention {
 public:
  Gemma4Attention(const tensor::Weights& w, const Gemma4Config& c, int layer);
  /// x [1, T, D] -> [1, T, D]. @param cache the donor's
  Array operator()(const Array& x, tensor::LayerCache cache) const;

 private:
  Array plain(const Array& q, const Array& x, tensor::LayerCache& cache) const;
  Array on_kernels(const Array& q, const Array& x, const tensor::LayerCache& cache) const;
  std::pair<Array, Array> keys_and_values(const Array& x) const;

  int heads_, kv_heads_, head_dim_;
  float eps_;
  tensor::Execution execution_;
  tensor::Linear q_proj_, o_proj_;
  std::optional<tensor::Linear> k_proj_, v_proj_;
  tensor::RmsNorm q_norm_;
  std::optional<tensor::RmsNorm> k_norm_;
  tensor::Rope rope_;
};

}  // namespace hearth::models
