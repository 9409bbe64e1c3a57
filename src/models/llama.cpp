// Llama, and Mistral by mlx-lm's remap: RMSNorm, grouped-query attention with RoPE, SwiGLU.
// Reference: mlx-lm models/llama.py (tests/golden); arXiv 2302.13971, 2307.09288.
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  DecoderSettings s{DecoderConfig(config, {.rope_theta = 10000})};
  s.attention.qkv_bias = s.attention.output_bias = c.flag("attention_bias", false);
  s.mlp.bias = c.flag("mlp_bias", false);
  s.windows = sliding_windows(config, s.config.num_hidden_layers);
  return make_decoder(s, w);
}

const Registered llama{{
    .model_types = {"llama", "mistral", "iquestcoder"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
    .tool_calls = ToolDialect::llama3,
}};

}  // namespace
}  // namespace hearth::models
