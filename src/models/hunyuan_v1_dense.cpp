// Hunyuan, dense: Llama with norms on query and key heads after they turn.
// Reference: mlx-lm models/hunyuan_v1_dense.py (tests/golden).
#include <cmath>

#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  DecoderSettings s{
      DecoderConfig(config, {.max_position_embeddings = 32768, .tie_word_embeddings = false})};
  s.attention.qkv_bias = s.attention.output_bias = c.flag("attention_bias", false);
  if (c.flag("use_qk_norm", true)) {
    s.attention.head_norm = {s.config.rms_norm_eps, tensor::RmsNorm::Stored::weight};
    s.attention.norm_names = {"query_layernorm", "key_layernorm"};
    s.attention.norm_turned = true;
  }
  // The base grows by alpha, and the frequencies come as a table.
  const double dims = s.config.head_dim;
  const double alpha =
      s.rope.scaling.is_object() ? ConfigReader(s.rope.scaling).number("alpha", 1.0f) : 1.0;
  s.rope = {.dims = s.config.head_dim,
            .base = static_cast<float>(s.config.rope_theta * std::pow(alpha, dims / (dims - 2))),
            .tabulated = true};
  return make_decoder(s, w);
}

const Registered hunyuan_v1_dense{{
    .model_types = {"hunyuan_v1_dense"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, false); },
}};

}  // namespace
}  // namespace hearth::models
