// Qwen3, dense: Llama, plus an RMSNorm on every query and key head before RoPE.
// Reference: mlx-lm models/qwen3.py (tests/golden); arXiv 2505.09388.
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  ConfigReader(config).integer("head_dim");  // required here
  DecoderSettings s{DecoderConfig(config, {.rope_theta = 1e6f, .tie_word_embeddings = false})};
  s.attention.head_norm = {s.config.rms_norm_eps, tensor::RmsNorm::Stored::weight};
  return make_decoder(s, w);
}

const Registered qwen3{{
    .model_types = {"qwen3"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, false); },
    .tool_calls = ToolDialect::hermes,
}};

}  // namespace
}  // namespace hearth::models
