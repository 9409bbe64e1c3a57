// StarCoder2: layer norms, biases everywhere, and a feed-forward without a gate.
// Reference: mlx-lm models/starcoder2.py (tests/golden); arXiv 2402.19173.
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

using tensor::LayerNorm;
using tensor::Weights;

struct Block {
  tensor::SelfAttention self_attn;
  tensor::Linear c_fc, c_proj;
  LayerNorm input_layernorm, post_attention_layernorm;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const {
    const auto h = x + self_attn(input_layernorm(x), std::move(cache));
    return h + c_proj(tensor::gelu(c_fc(post_attention_layernorm(h))));
  }
};

std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  const float eps = ConfigReader(config).number("norm_epsilon", 1e-5f);
  Json own = config;
  own.erase("head_dim");
  DecoderConfig c(own, {.rope_theta = 100000, .vocab_size = 49152});
  c.rope_traditional = false;
  c.rope_scaling = nullptr;
  auto attention = attention_settings(c);
  attention.qkv_bias = attention.output_bias = true;
  DecoderFrame frame(c, w);
  const tensor::Rope rope(rope_settings(c));
  std::vector<Block> layers;
  for (int i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = w["model"]["layers"][i];
    layers.push_back(
        {.self_attn = {at["self_attn"], attention, rope},
         .c_fc = {at["mlp"]["c_fc"], c.intermediate_size, c.hidden_size, true},
         .c_proj = {at["mlp"]["c_proj"], c.hidden_size, c.intermediate_size, true},
         .input_layernorm = {at["input_layernorm"], c.hidden_size, eps},
         .post_attention_layernorm = {at["post_attention_layernorm"], c.hidden_size, eps}});
  }
  return std::make_unique<Decoder<Block, LayerNorm>>(
      std::move(frame), std::move(layers), LayerNorm(w["model"]["norm"], c.hidden_size, eps),
      full_caches(c));
}

const Registered starcoder2{{
    .model_types = {"starcoder2"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
}};

}  // namespace
}  // namespace hearth::models
