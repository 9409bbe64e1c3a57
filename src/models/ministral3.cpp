// Ministral 3: Llama with yarn and queries that grow with their position.
// Reference: mlx-lm models/ministral3.py (tests/golden).
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  DecoderSettings s{DecoderConfig(config, {})};
  const Json parameters = ConfigReader(config).value("rope_parameters");
  const ConfigReader rope(parameters);
  s.rope.traditional = false;
  s.rope.scaling = parameters;
  s.rope.query_growth = rope.number("llama_4_scaling_beta");
  s.rope.query_growth_from = rope.integer("original_max_position_embeddings");
  s.windows = sliding_windows(config, s.config.num_hidden_layers);
  return make_decoder(s, w);
}

const Registered ministral3{{
    .model_types = {"ministral3"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
    .tool_calls = ToolDialect::mistral,
}};

}  // namespace
}  // namespace hearth::models
