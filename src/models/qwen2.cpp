// Qwen2: Llama with biases on queries, keys and values.
// Reference: mlx-lm models/qwen2.py (tests/golden); arXiv 2407.10671.
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  DecoderSettings s{DecoderConfig(config, {.rope_theta = 1e6f, .max_position_embeddings = 32768})};
  s.attention.qkv_bias = true;
  return make_decoder(s, w);
}

const Registered qwen2{{
    .model_types = {"qwen2"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
    .tool_calls = ToolDialect::hermes,
}};

}  // namespace
}  // namespace hearth::models
