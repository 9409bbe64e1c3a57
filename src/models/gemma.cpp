// Gemma: Llama with norms stored as weight − 1, exact GELU and embeddings scaled by √D.
// Reference: mlx-lm models/gemma.py (tests/golden); arXiv 2403.08295.
#include <cmath>

#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  DecoderSettings s{DecoderConfig(config, {})};
  s.config.tie_word_embeddings = true;
  s.norms = tensor::RmsNorm::Stored::weight_minus_one;
  s.mlp.activation = tensor::Activation::gelu;
  s.rope.scaling = nullptr;
  s.scaling.embedding = std::sqrt(double(s.config.hidden_size));
  return make_decoder(s, w);
}

const Registered gemma{{
    .model_types = {"gemma"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
    .tool_calls = ToolDialect::gemma,
}};

}  // namespace
}  // namespace hearth::models
