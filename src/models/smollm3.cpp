// SmolLM3: Llama without rotation in every fourth layer.
// Reference: mlx-lm models/smollm3.py (tests/golden).
#include <fmt/format.h>

#include <stdexcept>

#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

/// The layers that do not turn: those that no_rope_layers marks with 0, else every nth.
std::vector<bool> unturned(const Json& config, int layers) {
  const ConfigReader c(config);
  std::vector<bool> still(layers);
  const Json listed = c.value("no_rope_layers");
  if (listed.is_null()) {
    const int interval = c.integer("no_rope_layer_interval", 4);
    for (int i = 0; i < layers; ++i) still[i] = (i + 1) % interval == 0;
    return still;
  }
  if (!listed.is_array() || listed.size() != still.size()) {
    throw std::invalid_argument(
        fmt::format("config.json \"no_rope_layers\" must list {} layers", layers));
  }
  for (int i = 0; i < layers; ++i) still[i] = listed[i] == 0;
  return still;
}

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  DecoderSettings s{DecoderConfig(config, {})};
  s.attention.qkv_bias = s.attention.output_bias = c.flag("attention_bias", false);
  s.mlp.bias = c.flag("mlp_bias", false);
  s.unturned = unturned(config, s.config.num_hidden_layers);
  return make_decoder(s, w);
}

const Registered smollm3{{
    .model_types = {"smollm3"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
    .tool_calls = ToolDialect::hermes,
}};

}  // namespace
}  // namespace hearth::models
