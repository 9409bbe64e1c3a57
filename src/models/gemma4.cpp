// Gemma 4, text: sliding and global layers of different heads, later layers that read the keys and
// values of earlier ones, inputs of each layer's own, and experts beside the feed-forward.
// Reference: mlx-lm models/gemma4_text.py and gemma4.py (tests/golden).
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "models/decoder.h"
#include "models/family.h"
#include "models/gemma4_attention.h"
#include "models/moe.h"

namespace hearth::models {
namespace {

namespace mx = mlx::core;
using tensor::RmsNorm;
using tensor::times;
using tensor::Weights;

/// Experts beside the dense feed-forward, each with norms of its own.
struct Moe {
  tensor::Linear proj;
  Array scale, per_expert_scale;  // [D], [E]
  tensor::Experts experts;
  RmsNorm post_feedforward_layernorm_1, post_feedforward_layernorm_2, pre_feedforward_layernorm_2;
  int k;
  float eps;

  Moe(const Weights& w, const Gemma4Config& c)
      : proj(w["router"]["proj"], c.num_experts, c.hidden_size),
        scale(w["router"].take("scale", {c.hidden_size})),
        per_expert_scale(w["router"].take("per_expert_scale", {c.num_experts})),
        experts(w["experts"]["switch_glu"], {.experts = c.num_experts,
                                             .dims = c.hidden_size,
                                             .hidden = c.moe_intermediate_size,
                                             .activation = tensor::ExpertActivation::geglu}),
        post_feedforward_layernorm_1(c.norm(w["post_feedforward_layernorm_1"])),
        post_feedforward_layernorm_2(c.norm(w["post_feedforward_layernorm_2"])),
        pre_feedforward_layernorm_2(c.norm(w["pre_feedforward_layernorm_2"])), k(c.top_k_experts),
        eps(c.rms_norm_eps) {
    scale = times(scale, std::pow(double(c.hidden_size), -0.5));
    if (w.execution() != tensor::Execution::kernels) return;
    scale = mx::astype(scale, mx::float32);
    per_expert_scale = mx::astype(per_expert_scale, mx::float32);
  }

  // h: [1, T, D], dense: the feed-forward's output -> their sum
  Array operator()(const Array& h, const Array& dense) const {
    const auto scores = proj(mx::fast::rms_norm(h, scale, eps));
    const auto chosen = choose_largest(scores, k, Order::last_of_ascending, /*precise=*/false);
    const auto weights = chosen.weights * mx::take(per_expert_scale, chosen.experts, 0);
    const auto y = experts(pre_feedforward_layernorm_2(h), chosen.experts);
    const auto routed = mx::sum(mx::expand_dims(weights, -1) * y, -2);
    return post_feedforward_layernorm_1(dense) + post_feedforward_layernorm_2(routed);
  }
};

/// A layer's own input, let through by a gate.
struct LayerInput {
  tensor::Linear per_layer_input_gate, per_layer_projection;
  RmsNorm post_per_layer_input_norm;

  LayerInput(const Weights& w, const Gemma4Config& c)
      : per_layer_input_gate(w["per_layer_input_gate"], c.hidden_size_per_layer_input,
                             c.hidden_size),
        per_layer_projection(w["per_layer_projection"], c.hidden_size,
                             c.hidden_size_per_layer_input),
        post_per_layer_input_norm(c.norm(w["post_per_layer_input_norm"])) {}

  Array operator()(const Array& h, const Array& input) const {
    const auto gate = tensor::gated(per_layer_input_gate(h), input, tensor::Activation::gelu_tanh);
    return h + post_per_layer_input_norm(per_layer_projection(gate));
  }
};

struct Block {
  Gemma4Attention self_attn;
  tensor::GatedMlp mlp;
  RmsNorm input_layernorm, post_attention_layernorm;
  RmsNorm pre_feedforward_layernorm, post_feedforward_layernorm;
  std::optional<Moe> moe;
  std::optional<LayerInput> layer_input;
  Array layer_scalar;  // [1]

  Block(const Gemma4Config& c, int layer, const Weights& w)
      : self_attn(w["self_attn"], c, layer),
        mlp(w["mlp"], {.dims = c.hidden_size,
                       .hidden = c.intermediate_size * (c.wide(layer) ? 2 : 1),
                       .activation = tensor::Activation::gelu_tanh}),
        input_layernorm(c.norm(w["input_layernorm"])),
        post_attention_layernorm(c.norm(w["post_attention_layernorm"])),
        pre_feedforward_layernorm(c.norm(w["pre_feedforward_layernorm"])),
        post_feedforward_layernorm(c.norm(w["post_feedforward_layernorm"])),
        layer_scalar(w.take("layer_scalar", {1})) {
    if (c.enable_moe_block) moe.emplace(w, c);
    if (c.hidden_size_per_layer_input > 0) layer_input.emplace(w, c);
    if (w.execution() == tensor::Execution::kernels) {
      layer_scalar = mx::astype(layer_scalar, mx::float32);
    }
  }

  // x: [1, T, D], input: [1, T, P] of this layer, if any -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache,
                   const std::optional<Array>& input) const {
    const auto attended = self_attn(input_layernorm(x), std::move(cache));
    auto h = x + post_attention_layernorm(attended);
    const auto dense = mlp(pre_feedforward_layernorm(h));
    h = h + post_feedforward_layernorm(moe ? (*moe)(h, dense) : dense);
    if (layer_input) h = (*layer_input)(h, *input);
    return h * layer_scalar;
  }
};

/// What every layer is given beside the hidden state: looked up, and projected from the embedding.
struct LayerInputs {
  tensor::Embedding embed_tokens_per_layer;
  tensor::Linear per_layer_model_projection;
  RmsNorm per_layer_projection_norm;
  int layers, width, hidden;

  LayerInputs(const Weights& w, const Gemma4Config& c)
      : embed_tokens_per_layer(w["embed_tokens_per_layer"], c.vocab_size_per_layer_input,
                               c.num_hidden_layers * c.hidden_size_per_layer_input),
        per_layer_model_projection(w["per_layer_model_projection"],
                                   c.num_hidden_layers * c.hidden_size_per_layer_input,
                                   c.hidden_size),
        per_layer_projection_norm(w["per_layer_projection_norm"], c.hidden_size_per_layer_input,
                                  c.rms_norm_eps),
        layers(c.num_hidden_layers), width(c.hidden_size_per_layer_input), hidden(c.hidden_size) {}

  /// One a layer, [1, T, P]. @param h [1, T, D], scaled
  std::vector<Array> operator()(const Array& tokens, const Array& h) const {
    const auto by_layer = [&](const Array& x) { return mx::unflatten(x, -1, {layers, width}); };
    const auto looked_up =
        by_layer(times(embed_tokens_per_layer(tokens), std::sqrt(double(width))));
    const auto projected = per_layer_projection_norm(
        by_layer(times(per_layer_model_projection(h), std::pow(double(hidden), -0.5))));
    const auto all = times(projected + looked_up, std::pow(2.0, -0.5));
    std::vector<Array> out;
    for (int i = 0; i < layers; ++i) {
      out.push_back(
          mx::squeeze(mx::slice(all, {0, 0, i, 0}, {1, all.shape(1), i + 1, all.shape(3)}), 2));
    }
    return out;
  }
};

class Gemma4 final : public Model {
 public:
  /// @param w  the root of model.* and lm_head
  Gemma4(const Gemma4Config& c, const Weights& w)
      : c_(c), embed_tokens_(w["model"]["embed_tokens"], c.vocab_size, c.hidden_size),
        norm_(c.norm(w["model"]["norm"])) {
    if (c.hidden_size_per_layer_input > 0) inputs_.emplace(w["model"], c);
    for (int i = 0; i < c.num_hidden_layers; ++i) {
      layers_.emplace_back(c, i, w["model"]["layers"][i]);
    }
    if (!c.tie_word_embeddings) lm_head_.emplace(w["lm_head"], c.vocab_size, c.hidden_size);
  }

  Array forward(const Array& tokens, StepCache& cache) const override {
    auto h = times(embed_tokens_(tokens), std::sqrt(double(c_.hidden_size)));
    const auto inputs = inputs_ ? (*inputs_)(tokens, h) : std::vector<Array>();
    for (int i = 0; i < c_.num_hidden_layers; ++i) {
      h = layers_[i](h, cache[c_.donor(i)], inputs_ ? std::optional(inputs[i]) : std::nullopt);
    }
    return h;
  }

  Array normalised(const Array& hidden) const override { return norm_(hidden); }

  Array logits(const Array& hidden) const override {
    const auto h = normalised(hidden);
    const auto logits = lm_head_ ? (*lm_head_)(h) : embed_tokens_.as_linear(h);
    return c_.final_logit_softcapping > 0 ? tensor::softcap(logits, c_.final_logit_softcapping)
                                          : logits;
  }

  std::vector<CacheSpec> caches() const override {
    std::vector<CacheSpec> specs;
    for (int i = 0; i < c_.first_shared(); ++i) {
      specs.push_back({c_.kv_heads(i), c_.head_size(i), c_.slides[i] ? c_.sliding_window : 0});
    }
    return specs;
  }

  int vocab_size() const override { return c_.vocab_size; }

 private:
  Gemma4Config c_;
  tensor::Embedding embed_tokens_;
  std::optional<LayerInputs> inputs_;
  std::vector<Block> layers_;
  RmsNorm norm_;
  std::optional<tensor::Linear> lm_head_;
};

/// The text model's own config; a multimodal one nests it, with defaults of its own.
Json inner(const Json& config) {
  if (!config.contains("text_config")) return config;
  Json text = text_config(config);
  text["vocab_size"] = ConfigReader(config).integer("vocab_size", 262144);
  return text;
}

std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  const Gemma4Config c(inner(config));
  if (!config.contains("text_config")) return std::make_unique<Gemma4>(c, w);
  w.move("model.language_model.", "language_model.model.");
  return std::make_unique<Gemma4>(c, w["language_model"]);
}

/// Towers, ranges of a quantisation that is not ours, and what layers that share keys do not need.
bool drops(const Json& config, std::string_view tensor) {
  for (const char* part : {"vision_tower", "multi_modal_projector", "audio_tower", "embed_audio",
                           "embed_vision", "vision_embedder", "self_attn.rotary_emb", "input_max",
                           "input_min", "output_max", "output_min"}) {
    if (tensor.find(part) != tensor.npos) return true;
  }
  const Gemma4Config c(inner(config));
  for (int i = c.first_shared(); i < c.num_hidden_layers; ++i) {
    const auto at = fmt::format("layers.{}.self_attn.", i);
    const auto found = tensor.find(at);
    if (found == tensor.npos) continue;
    const auto rest = tensor.substr(found + at.size());
    return rest.starts_with("k_proj") || rest.starts_with("v_proj") || rest.starts_with("k_norm");
  }
  return false;
}

const Registered gemma4{{
    .model_types = {"gemma4_text", "gemma4"},
    .load = load,
    .drops = drops,
    .tool_calls = ToolDialect::gemma,
}};

}  // namespace
}  // namespace hearth::models
