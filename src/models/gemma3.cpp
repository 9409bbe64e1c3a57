// Gemma 3, text: sandwich norms stored as weight − 1, norms on query and key heads, GeGLU, and five
// sliding-window layers for each full one.
// Reference: mlx-lm models/gemma3_text.py and gemma3.py (tests/golden); arXiv 2503.19786.
#include <cmath>

#include "models/config.h"
#include "models/family.h"
#include "tensor/attention.h"
#include "tensor/mlp.h"

namespace hearth::models {
namespace {

using tensor::RmsNorm;
using tensor::Weights;

/// mlx-lm's ModelArgs with its defaults.
struct Config {
  int hidden_size, num_hidden_layers, intermediate_size, num_attention_heads, num_key_value_heads;
  int head_dim, vocab_size, sliding_window, sliding_window_pattern, max_position_embeddings;
  float rms_norm_eps, rope_theta, rope_local_base_freq, query_pre_attn_scalar;
  Json rope_scaling;
  bool both_ways;  // EmbeddingGemma, an encoder

  explicit Config(const Json& json) {
    const ConfigReader c(json);
    hidden_size = c.integer("hidden_size", 1152);
    num_hidden_layers = c.integer("num_hidden_layers", 26, 1, 4096);
    intermediate_size = c.integer("intermediate_size", 6912);
    num_attention_heads = c.integer("num_attention_heads", 4, 1, 4096);
    num_key_value_heads = c.integer("num_key_value_heads", 1, 1, 4096);
    head_dim = c.integer("head_dim", 256, 2, 4096);
    vocab_size = c.integer("vocab_size", 262144);
    sliding_window = c.integer("sliding_window", 512);
    sliding_window_pattern = c.integer("sliding_window_pattern", 6);
    max_position_embeddings = c.integer("max_position_embeddings", 32768);
    rms_norm_eps = c.number("rms_norm_eps", 1e-6f);
    rope_theta = c.number("rope_theta", 1e6f);
    rope_local_base_freq = c.number("rope_local_base_freq", 10000.0f);
    query_pre_attn_scalar = c.number("query_pre_attn_scalar", 256.0f);
    rope_scaling = c.value("rope_scaling");
    both_ways = c.flag("use_bidirectional_attention", false);
    // As far to either side; the bound is exclusive. Source: transformers, Gemma3TextConfig.
    if (both_ways) sliding_window = sliding_window / 2 + 1;
    if (num_attention_heads % num_key_value_heads != 0) {
      throw std::invalid_argument("config.json: key-value heads must divide the attention heads");
    }
  }
  bool slides(int layer) const { return (layer + 1) % sliding_window_pattern != 0; }
};

RmsNorm norm(const Weights& w, const Config& c) {
  return RmsNorm(w, c.hidden_size, c.rms_norm_eps, RmsNorm::Stored::weight_minus_one);
}

tensor::Rope rope(const Config& c, int layer) {
  if (c.slides(layer)) return tensor::Rope({.dims = c.head_dim, .base = c.rope_local_base_freq});
  return tensor::Rope({.dims = c.head_dim,
                       .base = c.rope_theta,
                       .scaling = c.rope_scaling,
                       .max_position_embeddings = c.max_position_embeddings});
}

/// The residual sum; float16 is summed in float32 and kept finite.
Array clip_residual(const Array& x, const Array& y) {
  if (x.dtype() != mlx::core::float16) return x + y;
  namespace mx = mlx::core;
  const auto bound = Array(65504.0f, mx::float32);
  const auto sum = mx::astype(x, mx::float32) + mx::astype(y, mx::float32);
  return mx::astype(mx::clip(sum, -bound, bound), mx::float16);
}

struct Block {
  tensor::SelfAttention self_attn;
  tensor::GatedMlp mlp;
  RmsNorm input_layernorm, post_attention_layernorm;
  RmsNorm pre_feedforward_layernorm, post_feedforward_layernorm;

  Block(const Config& c, int layer, const Weights& w)
      : self_attn(w["self_attn"],
                  {.dims = c.hidden_size,
                   .heads = c.num_attention_heads,
                   .kv_heads = c.num_key_value_heads,
                   .head_dim = c.head_dim,
                   .scale = static_cast<float>(std::pow(double(c.query_pre_attn_scalar), -0.5)),
                   .head_norm = {{c.rms_norm_eps, RmsNorm::Stored::weight_minus_one}}},
                  rope(c, layer)),
        mlp(w["mlp"], {.dims = c.hidden_size,
                       .hidden = c.intermediate_size,
                       .activation = tensor::Activation::gelu_tanh}),
        input_layernorm(norm(w["input_layernorm"], c)),
        post_attention_layernorm(norm(w["post_attention_layernorm"], c)),
        pre_feedforward_layernorm(norm(w["pre_feedforward_layernorm"], c)),
        post_feedforward_layernorm(norm(w["post_feedforward_layernorm"], c)) {}

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const {
    const auto attended = self_attn(input_layernorm(x), std::move(cache));
    const auto h = clip_residual(x, post_attention_layernorm(attended));
    return clip_residual(h, post_feedforward_layernorm(mlp(pre_feedforward_layernorm(h))));
  }
};

class Gemma3 final : public Model {
 public:
  Gemma3(const Json& json, const Weights& w, const Weights& head)
      : c_(json), embed_tokens_(w["embed_tokens"], c_.vocab_size, c_.hidden_size),
        norm_(norm(w["norm"], c_)) {
    for (int i = 0; i < c_.num_hidden_layers; ++i) layers_.emplace_back(c_, i, w["layers"][i]);
    if (head.has("weight")) lm_head_.emplace(head, c_.vocab_size, c_.hidden_size);
  }

  Array forward(const Array& tokens, StepCache& cache) const override {
    namespace mx = mlx::core;
    auto h = embed_tokens_(tokens);
    // The factor is rounded to bfloat16 whatever the model's dtype.
    const auto factor = Array(static_cast<float>(std::sqrt(double(c_.hidden_size))), mx::bfloat16);
    h = h * mx::astype(factor, h.dtype());
    for (std::size_t i = 0; i < layers_.size(); ++i) h = layers_[i](h, cache[i]);
    return h;
  }

  Array normalised(const Array& hidden) const override { return norm_(hidden); }

  Array logits(const Array& hidden) const override {
    const auto h = normalised(hidden);
    return lm_head_ ? (*lm_head_)(h) : embed_tokens_.as_linear(h);
  }

  std::vector<CacheSpec> caches() const override {
    std::vector<CacheSpec> specs;
    for (int i = 0; i < c_.num_hidden_layers; ++i) {
      specs.push_back({.kv_heads = c_.num_key_value_heads,
                       .head_dim = c_.head_dim,
                       .window = c_.slides(i) ? c_.sliding_window : 0,
                       .both_ways = c_.both_ways});
    }
    return specs;
  }

  int vocab_size() const override { return c_.vocab_size; }

 private:
  Config c_;
  tensor::Embedding embed_tokens_;
  std::vector<Block> layers_;
  RmsNorm norm_;
  std::optional<tensor::Linear> lm_head_;
};

/// A multimodal checkpoint nests its text model, with defaults of its own (mlx-lm gemma3.py).
std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  if (!config.contains("text_config")) {
    return std::make_unique<Gemma3>(config, w["model"], w["lm_head"]);
  }
  Json text = text_config(config);
  text["vocab_size"] = ConfigReader(config).integer("vocab_size", 262208);
  if (!text.contains("num_attention_heads")) text["num_attention_heads"] = 8;
  if (!text.contains("num_key_value_heads")) text["num_key_value_heads"] = 4;
  const auto root = w["language_model"];
  return std::make_unique<Gemma3>(text, root["model"], root["lm_head"]);
}

const Registered gemma3{{
    .model_types = {"gemma3_text", "gemma3"},
    .load = load,
    .drops =
        [](const Json&, std::string_view tensor) {
          return tensor.starts_with("vision_tower.") ||
                 tensor.starts_with("multi_modal_projector.");
        },
}};

}  // namespace
}  // namespace hearth::models
