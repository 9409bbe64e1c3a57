// Gemma 2: norms before and after each part, and scores and logits capped by tanh.
// Reference: mlx-lm models/gemma2.py (tests/golden), which attends to everything in every layer;
// arXiv 2408.00118.
#include <cmath>

#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

using tensor::RmsNorm;
using tensor::Weights;

struct Block {
  tensor::SelfAttention self_attn;
  tensor::GatedMlp mlp;
  RmsNorm input_layernorm, post_attention_layernorm;
  RmsNorm pre_feedforward_layernorm, post_feedforward_layernorm;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const {
    const auto r = self_attn(input_layernorm(x), std::move(cache));
    const auto h = x + post_attention_layernorm(r);
    return h + post_feedforward_layernorm(mlp(pre_feedforward_layernorm(h)));
  }
};

std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  const ConfigReader json(config);
  DecoderConfig c(config, {});
  c.tie_word_embeddings = true;
  c.rope_scaling = nullptr;
  const auto norm = [&](const Weights& at) {
    return RmsNorm(at, c.hidden_size, c.rms_norm_eps, RmsNorm::Stored::weight_minus_one);
  };
  auto attention = attention_settings(c);
  attention.scale =
      static_cast<float>(1 / std::sqrt(double(json.number("query_pre_attn_scalar", 144.0f))));
  attention.softcap = json.number("attn_logit_softcapping", 50.0f);
  const tensor::MlpSettings mlp{.dims = c.hidden_size,
                                .hidden = c.intermediate_size,
                                .activation = tensor::Activation::gelu_tanh};
  DecoderFrame frame(c, w,
                     {.embedding = std::sqrt(double(c.hidden_size)),
                      .softcap = json.number("final_logit_softcapping", 30.0f)});
  const tensor::Rope rope(rope_settings(c));
  std::vector<Block> layers;
  for (int i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = w["model"]["layers"][i];
    layers.push_back({.self_attn = {at["self_attn"], attention, rope},
                      .mlp = {at["mlp"], mlp},
                      .input_layernorm = norm(at["input_layernorm"]),
                      .post_attention_layernorm = norm(at["post_attention_layernorm"]),
                      .pre_feedforward_layernorm = norm(at["pre_feedforward_layernorm"]),
                      .post_feedforward_layernorm = norm(at["post_feedforward_layernorm"])});
  }
  return std::make_unique<Decoder<Block>>(std::move(frame), std::move(layers),
                                          norm(w["model"]["norm"]), full_caches(c));
}

const Registered gemma2{{
    .model_types = {"gemma2"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
    .tool_calls = ToolDialect::gemma,
}};

}  // namespace
}  // namespace hearth::models
