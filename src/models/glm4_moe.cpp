// GLM-4.5 to 4.7: dense layers first, then experts chosen by sigmoid beside shared ones.
// Reference: mlx-lm models/glm4_moe.py (tests/golden); arXiv 2508.06471.
#include <fmt/format.h>

#include "models/family.h"
#include "models/moe.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  DecoderSettings s{DecoderConfig(config, {})};
  s.config.tie_word_embeddings = false;
  s.attention.qkv_bias = c.flag("attention_bias", false);
  if (c.flag("use_qk_norm", false)) {
    s.attention.head_norm = {s.config.rms_norm_eps, tensor::RmsNorm::Stored::weight};
  }
  s.rope.dims = rotary_dims(config, s.config.head_dim);
  s.rope.scaling = nullptr;
  s.rope.traditional = false;
  const int experts = c.integer("n_routed_experts"), width = c.integer("moe_intermediate_size");
  const int shared = c.integer("n_shared_experts", 0, 0);
  const int first = c.integer("first_k_dense_replace", 0, 0);
  const GroupedChoice how{.k = c.integer("num_experts_per_tok", {}, 1, experts),
                          .groups = c.integer("n_group", 1, 1, experts),
                          .kept_groups = c.integer("topk_group", 1, 1, experts),
                          .scale = c.number("routed_scaling_factor", 1.0f),
                          .normalise = c.flag("norm_topk_prob", true)};
  s.feed_forward = [=, dims = s.config.hidden_size, mlp = s.mlp](
                       int layer, const tensor::Weights& block) -> FeedForward {
    const auto at = block["mlp"];
    if (layer < first) return tensor::GatedMlp(at, mlp);
    return sparse_moe(at, {.experts = experts, .dims = dims, .hidden = width}, shared, how);
  };
  return make_decoder(s, w);
}

/// The layers behind the last are for speculative decoding.
bool drops(const Json& config, std::string_view tensor) {
  const int layers = ConfigReader(config).integer("num_hidden_layers");
  return tensor.starts_with(fmt::format("model.layers.{}.", layers));
}

const Registered glm4_moe{{
    .model_types = {"glm4_moe"},
    .load = load,
    .drops = drops,
    .tool_calls = ToolDialect::glm,
}};

}  // namespace
}  // namespace hearth::models
