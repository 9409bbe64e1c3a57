// Phi-3 and Phi-4: Llama with queries, keys and values in one projection, gate and up in another.
// Reference: mlx-lm models/phi3.py (tests/golden); arXiv 2404.14219.
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

/// Only the long-context rotation and the linear one are known to the reference; the length that
/// the factors were made for is a field of the config itself.
Json scaling(const Json& config) {
  const ConfigReader c(config);
  Json scaling = c.value("rope_scaling");
  const std::string type = scaling.is_object() ? scaling.value("type", "") : "";
  if (type != "longrope" && type != "su" && type != "linear") return nullptr;
  scaling["original_max_position_embeddings"] = c.integer("original_max_position_embeddings", 4096);
  return scaling;
}

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  Json own = config;
  own.erase("head_dim");
  DecoderSettings s{
      DecoderConfig(own, {.max_position_embeddings = 131072, .tie_word_embeddings = false})};
  s.attention.fused = s.mlp.fused = true;
  s.rope.dims = rotary_dims(config, s.config.head_dim);
  s.rope.scaling = scaling(config);
  return make_decoder(s, w);
}

const Registered phi3{{
    .model_types = {"phi3"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, false); },
}};

}  // namespace
}  // namespace hearth::models
