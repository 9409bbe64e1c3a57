// Seed-OSS: Llama with biases of its own on queries, keys, values and on the output.
// Reference: mlx-lm models/seed_oss.py (tests/golden).
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  DecoderSettings s{DecoderConfig(config, {})};
  s.attention.qkv_bias = c.flag("attention_bias", false);
  s.attention.output_bias = c.flag("attention_out_bias", false);
  s.mlp.bias = c.flag("mlp_bias", false);
  return make_decoder(s, w);
}

const Registered seed_oss{{
    .model_types = {"seed_oss"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
}};

}  // namespace
}  // namespace hearth::models
