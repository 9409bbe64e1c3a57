// Qwen2, mixture of experts: Qwen2's attention, experts chosen by softmax, and one that all take.
// Reference: mlx-lm models/qwen2_moe.py (tests/golden); arXiv 2407.10671.
#include <algorithm>

#include "models/family.h"
#include "models/moe.h"

namespace hearth::models {
namespace {

struct SparseMoe {
  tensor::Linear gate;
  tensor::Experts switch_mlp;
  tensor::GatedMlp shared_expert;
  tensor::Linear shared_expert_gate;
  int k;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x) const {
    const auto [experts, weights] =
        choose_likeliest(gate(x), k, /*normalise=*/false, Order::first_of_negatives);
    const auto y = weighted_sum(switch_mlp(x, experts), weights);
    return y + mlx::core::sigmoid(shared_expert_gate(x)) * shared_expert(x);
  }
};

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  Json own = config;
  own.erase("head_dim");
  DecoderSettings s{DecoderConfig(own, {.rope_theta = 1e6f, .tie_word_embeddings = false})};
  s.attention.qkv_bias = true;
  const int experts = c.integer("num_experts");
  const int chosen = c.integer("num_experts_per_tok", {}, 1, experts);
  const int width = c.integer("moe_intermediate_size");
  const int shared = c.integer("shared_expert_intermediate_size");
  s.feed_forward = [=, dims = s.config.hidden_size](int,
                                                    const tensor::Weights& block) -> FeedForward {
    const auto at = block["mlp"];
    return SparseMoe{
        {at["gate"], experts, dims},
        {stacked_experts(at, experts), {.experts = experts, .dims = dims, .hidden = width}},
        {at["shared_expert"], {.dims = dims, .hidden = shared}},
        {at["shared_expert_gate"], 1, dims},
        chosen};
  };
  return make_decoder(s, w);
}

const Registered qwen2_moe{{
    .model_types = {"qwen2_moe"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, false); },
    .tool_calls = ToolDialect::hermes,
}};

}  // namespace
}  // namespace hearth::models
