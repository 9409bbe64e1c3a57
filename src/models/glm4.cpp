// GLM-4 (0414): four norms a layer, half of each head turns, gate and up in one projection.
// Reference: mlx-lm models/glm4.py (tests/golden).
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

using tensor::RmsNorm;
using tensor::Weights;

struct Block {
  tensor::SelfAttention self_attn;
  tensor::GatedMlp mlp;
  RmsNorm input_layernorm, post_self_attn_layernorm;
  RmsNorm post_attention_layernorm, post_mlp_layernorm;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const {
    const auto r = self_attn(input_layernorm(x), std::move(cache));
    const auto h = x + post_self_attn_layernorm(r);
    return post_mlp_layernorm(mlp(post_attention_layernorm(h))) + h;
  }
};

std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  const ConfigReader json(config);
  DecoderConfig c(config, {.max_position_embeddings = 32768});
  c.tie_word_embeddings = false;
  c.rope_traditional = json.flag("rope_traditional", true);
  c.rope_scaling = nullptr;
  const auto norm = [&](const Weights& at) { return RmsNorm(at, c.hidden_size, c.rms_norm_eps); };
  auto attention = attention_settings(c);
  attention.qkv_bias = json.flag("attention_bias", false);
  const tensor::MlpSettings mlp{
      .dims = c.hidden_size, .hidden = c.intermediate_size, .fused = true};
  auto turn = rope_settings(c);
  turn.dims = rotary_dims(config, c.head_dim);
  DecoderFrame frame(c, w);
  const tensor::Rope rope(turn);
  std::vector<Block> layers;
  for (int i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = w["model"]["layers"][i];
    layers.push_back({.self_attn = {at["self_attn"], attention, rope},
                      .mlp = {at["mlp"], mlp},
                      .input_layernorm = norm(at["input_layernorm"]),
                      .post_self_attn_layernorm = norm(at["post_self_attn_layernorm"]),
                      .post_attention_layernorm = norm(at["post_attention_layernorm"]),
                      .post_mlp_layernorm = norm(at["post_mlp_layernorm"])});
  }
  return std::make_unique<Decoder<Block>>(std::move(frame), std::move(layers),
                                          norm(w["model"]["norm"]), full_caches(c));
}

const Registered glm4{{
    .model_types = {"glm4"},
    .load = load,
    .tool_calls = ToolDialect::glm,
}};

}  // namespace
}  // namespace hearth::models
