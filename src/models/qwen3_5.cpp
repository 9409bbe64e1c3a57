// Qwen3.5: gated delta nets, and attention with an output gate in every fourth layer.
// Reference: mlx-lm models/qwen3_5.py (tests/golden).
#include <algorithm>
#include <stdexcept>

#include "models/family.h"
#include "models/gated_delta_net.h"

namespace hearth::models {
namespace {

using tensor::Weights;

GatedDeltaNetSettings delta_net(const ConfigReader& c, const DecoderConfig& of) {
  const GatedDeltaNetSettings s{.dims = of.hidden_size,
                                .key_heads = c.integer("linear_num_key_heads", 16),
                                .value_heads = c.integer("linear_num_value_heads", 64),
                                .key_dim = c.integer("linear_key_head_dim", 192),
                                .value_dim = c.integer("linear_value_head_dim", 128),
                                .kernel = c.integer("linear_conv_kernel_dim", 4, 2, 64),
                                .eps = of.rms_norm_eps};
  if (s.value_heads % s.key_heads != 0) {
    throw std::invalid_argument(
        "config.json: linear_num_key_heads must divide linear_num_value_heads");
  }
  return s;
}

/// A fresh export has its convolutions transposed, and norms as weight − 1.
void sanitize(const Weights& w) {
  bool fresh = false;
  const auto is_conv = [](std::string_view name) { return name.ends_with("conv1d.weight"); };
  w.rewrite([&](std::string_view name, const Array& x) {
    fresh |= is_conv(name) && x.shape(-1) != 1;
    return std::optional(x);
  });
  if (!fresh) return;
  static constexpr std::string_view shifted[] = {
      ".input_layernorm.weight", ".post_attention_layernorm.weight", "model.norm.weight",
      ".q_norm.weight", ".k_norm.weight"};
  w.rewrite([&](std::string_view name, const Array& x) -> std::optional<Array> {
    if (is_conv(name) && x.shape(-1) != 1) return mlx::core::moveaxis(x, 2, 1);
    const bool shift = x.ndim() == 1 && std::ranges::any_of(shifted, [&](std::string_view end) {
                         return name.ends_with(end);
                       });
    return shift ? x + Array(1.0f, x.dtype()) : x;
  });
}

/// The text model's view, whatever the checkpoint calls it.
Weights root(const Weights& w) {
  w.move("model.language_model.", "language_model.model.");
  if (w["language_model"]["model"]["embed_tokens"].has("weight")) {
    w.move("lm_head.", "language_model.lm_head.");
    return w["language_model"];
  }
  return w;
}

std::unique_ptr<Model> load(const Json& given, const Weights& w) {
  const Json config = text_config(given);
  const ConfigReader c(config);
  const Weights from = root(w);
  sanitize(from);
  DecoderSettings s{DecoderConfig(config, {.rope_theta = 100000, .tie_word_embeddings = false})};
  const Json turn = c.value("rope_parameters");
  s.attention.head_norm = {s.config.rms_norm_eps, tensor::RmsNorm::Stored::weight};
  s.attention.qkv_bias = s.attention.output_bias = c.flag("attention_bias", false);
  s.attention.output_gate = true;
  s.rope.dims = rotary_dims(turn.is_object() ? turn : config, s.config.head_dim, 0.25);
  s.rope.traditional = false;
  s.rope.scaling = turn;
  const auto net = delta_net(c, s.config);
  const int interval = c.integer("full_attention_interval", 4);
  s.mixer = [=](int layer, const Weights& block, CacheSpec& cache) -> Mixer {
    if ((layer + 1) % interval == 0) return nullptr;
    cache = net.cache();
    return GatedDeltaNet(block["linear_attn"], net);
  };
  return make_decoder(s, from);
}

bool drops(const Json& config, std::string_view tensor) {
  if (tensor.starts_with("language_model.")) tensor.remove_prefix(15);
  return tensor.starts_with("vision_tower") || tensor.starts_with("model.visual") ||
         tensor.find("mtp.") != tensor.npos || decoder_drops(text_config(config), tensor, false);
}

const Registered qwen3_5{{
    .model_types = {"qwen3_5", "qwen3_5_text"},
    .load = load,
    .drops = drops,
    .tool_calls = ToolDialect::qwen_xml,
}};

}  // namespace
}  // namespace hearth::models
