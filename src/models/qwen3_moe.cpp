// Qwen3, mixture of experts: Qwen3's attention, and experts chosen by softmax.
// Reference: mlx-lm models/qwen3_moe.py (tests/golden); arXiv 2505.09388.
#include <algorithm>

#include "models/family.h"
#include "models/moe.h"

namespace hearth::models {
namespace {

struct SparseMoe {
  tensor::Linear gate;
  tensor::Experts switch_mlp;
  int k;
  bool normalise;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x) const {
    const auto [experts, weights] =
        choose_likeliest(gate(x), k, normalise, Order::last_of_ascending);
    return weighted_sum(switch_mlp(x, experts), weights);
  }
};

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  DecoderSettings s{DecoderConfig(config, {.tie_word_embeddings = false})};
  s.attention.head_norm = {s.config.rms_norm_eps, tensor::RmsNorm::Stored::weight};
  s.rope.scaling = nullptr;
  s.rope.traditional = false;
  const int experts = c.integer("num_experts", {}, 0), step = c.integer("decoder_sparse_step", 1);
  const int chosen = c.integer("num_experts_per_tok", {}, 1, std::max(experts, 1));
  const int width = c.integer("moe_intermediate_size");
  const bool normalise = c.flag("norm_topk_prob", false);
  const Json dense = c.value("mlp_only_layers");
  s.feed_forward = [=, dims = s.config.hidden_size, mlp = s.mlp](
                       int layer, const tensor::Weights& block) -> FeedForward {
    const auto at = block["mlp"];
    const bool listed = std::ranges::find(dense, Json(layer)) != dense.end();
    if (listed || experts == 0 || (layer + 1) % step != 0) return tensor::GatedMlp(at, mlp);
    const tensor::ExpertSettings of{.experts = experts, .dims = dims, .hidden = width};
    return SparseMoe{
        {at["gate"], experts, dims}, {stacked_experts(at, experts), of}, chosen, normalise};
  };
  return make_decoder(s, w);
}

const Registered qwen3_moe{{
    .model_types = {"qwen3_moe"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, false); },
    .tool_calls = ToolDialect::hermes,
}};

}  // namespace
}  // namespace hearth::models
