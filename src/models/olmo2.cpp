// OLMo 2: norms after attention and feed-forward instead of before, and on whole queries and keys.
// OLMo 3: the same with windows in three of four layers, which turn without scaling.
// Reference: mlx-lm models/olmo2.py and olmo3.py (tests/golden); arXiv 2501.00656.
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

using tensor::RmsNorm;
using tensor::Weights;

struct Block {
  tensor::SelfAttention self_attn;
  tensor::GatedMlp mlp;
  RmsNorm post_attention_layernorm, post_feedforward_layernorm;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const {
    const auto h = x + post_attention_layernorm(self_attn(x, std::move(cache)));
    return h + post_feedforward_layernorm(mlp(h));
  }
};

std::vector<int> windows(const Json& config, int layers) {
  const ConfigReader c(config);
  if (c.value("model_type") != "olmo3") return std::vector<int>(layers, 0);
  if (!c.value("layer_types").is_null()) return sliding_windows(config, layers);
  std::vector<int> windows;
  for (int i = 0; i < layers; ++i) {
    windows.push_back((i + 1) % 4 == 0 ? 0 : c.integer("sliding_window"));
  }
  return windows;
}

std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  const ConfigReader json(config);
  const bool third = json.value("model_type") == "olmo3";
  const DecoderConfig c(config, {.tie_word_embeddings = !third});
  const auto norm = [&](const Weights& at) { return RmsNorm(at, c.hidden_size, c.rms_norm_eps); };
  auto attention = attention_settings(c);
  attention.qkv_bias = attention.output_bias = json.flag("attention_bias", false);
  attention.head_norm = {c.rms_norm_eps, RmsNorm::Stored::weight};
  attention.whole_norm = true;
  const tensor::MlpSettings mlp{.dims = c.hidden_size,
                                .hidden = c.intermediate_size,
                                .bias = !third && json.flag("mlp_bias", false)};
  auto turn = rope_settings(c);
  if (third) turn.traditional = false;
  const tensor::Rope far(turn);
  turn.scaling = nullptr;
  const tensor::Rope near(turn);
  const auto windows_of = windows(config, c.num_hidden_layers);
  DecoderFrame frame(c, w);
  std::vector<Block> layers;
  auto caches = full_caches(c);
  for (int i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = w["model"]["layers"][i];
    const tensor::Rope& rope = windows_of[i] > 0 ? near : far;
    caches[i].window = windows_of[i];
    layers.push_back({.self_attn = {at["self_attn"], attention, rope},
                      .mlp = {at["mlp"], mlp},
                      .post_attention_layernorm = norm(at["post_attention_layernorm"]),
                      .post_feedforward_layernorm = norm(at["post_feedforward_layernorm"])});
  }
  return std::make_unique<Decoder<Block>>(std::move(frame), std::move(layers),
                                          norm(w["model"]["norm"]), std::move(caches));
}

const Registered olmo2{{
    .model_types = {"olmo2", "olmo3"},
    .load = load,
    .drops =
        [](const Json& config, std::string_view tensor) {
          return decoder_drops(config, tensor, config["model_type"] == "olmo2");
        },
}};

}  // namespace
}  // namespace hearth::models
