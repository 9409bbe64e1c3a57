// MiniCPM 1 and 2: Llama with scaled embeddings, residuals and head.
// Reference: mlx-lm models/minicpm.py (tests/golden); arXiv 2404.06395.
#include <cmath>

#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  Json own = config;
  own.erase("head_dim");
  DecoderSettings s{DecoderConfig(own, {.rope_theta = 1e6f, .tie_word_embeddings = false})};
  s.scaling.embedding = c.number("scale_emb");
  if (!s.config.tie_word_embeddings) {
    s.scaling.hidden_divisor = double(s.config.hidden_size) / c.integer("dim_model_base");
  }
  s.residual_multiplier = c.number("scale_depth") / std::sqrt(double(s.config.num_hidden_layers));
  // Some checkpoints leave out a head that is the embedding.
  s.config.tie_word_embeddings |= !w["lm_head"].has("weight");
  return make_decoder(s, w);
}

const Registered minicpm{{
    .model_types = {"minicpm"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, false); },
    .tool_calls = ToolDialect::minicpm,
}};

}  // namespace
}  // namespace hearth::models
