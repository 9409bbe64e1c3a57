// The pre-norm decoder that Llama and its kin share: norm, attention, norm, gated MLP, residuals.
// A family says what differs in DecoderSettings.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/config.h"
#include "models/model.h"
#include "tensor/attention.h"
#include "tensor/mlp.h"

namespace hearth::models {

/// One layer. Source: mlx-lm models/llama.py, TransformerBlock.
class DecoderBlock {
 public:
  DecoderBlock(const tensor::Weights& w, const tensor::AttentionSettings& attention,
               const tensor::MlpSettings& mlp, tensor::Rope rope, float eps);
  /// x [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const;

 private:
  tensor::SelfAttention self_attn_;
  tensor::GatedMlp mlp_;
  tensor::RmsNorm input_layernorm_, post_attention_layernorm_;
};

/// What tells one family from another.
struct DecoderSettings {
  DecoderConfig config;
  tensor::AttentionSettings attention;
  tensor::MlpSettings mlp;
  std::vector<int> windows;  // by layer; 0: full attention

  /// Llama's choices for a config; a family then changes what is its own.
  explicit DecoderSettings(const DecoderConfig& config);
};

/// Embedding, blocks, final norm and head. Source: mlx-lm models/llama.py, Model.
std::unique_ptr<Model> make_decoder(const DecoderSettings& settings, const tensor::Weights& w);

/// Tensors that mlx-lm's sanitize drops: stored rotary frequencies, and the head of a tied model.
bool decoder_drops(const Json& config, std::string_view tensor, bool tied_by_default);

}  // namespace hearth::models
