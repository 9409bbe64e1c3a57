// Granite 3: Llama with four multipliers, of embeddings, scores, residuals and logits.
// Reference: mlx-lm models/granite.py (tests/golden).
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  Json own = config;
  own.erase("head_dim");
  DecoderSettings s{DecoderConfig(own, {})};
  s.attention.scale = c.number("attention_multiplier");
  s.attention.qkv_bias = s.attention.output_bias = c.flag("attention_bias", false);
  s.mlp.bias = c.flag("mlp_bias", false);
  s.rope.traditional = false;
  s.scaling.embedding = c.number("embedding_multiplier");
  s.scaling.logits_divisor = c.number("logits_scaling");
  s.residual_multiplier = c.number("residual_multiplier");
  return make_decoder(s, w);
}

const Registered granite{{
    .model_types = {"granite"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
    .tool_calls = ToolDialect::granite,
}};

}  // namespace
}  // namespace hearth::models
