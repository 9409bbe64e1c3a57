// Mixtral: Llama's attention, and experts chosen by their logits.
// Reference: mlx-lm models/mixtral.py (tests/golden); arXiv 2401.04088.
#include "models/family.h"
#include "models/moe.h"

namespace hearth::models {
namespace {

struct SparseMoe {
  tensor::Linear gate;
  tensor::Experts switch_mlp;
  int k;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x) const {
    const auto [experts, weights] = choose_largest(gate(x), k, Order::first_of_negatives);
    return weighted_sum(switch_mlp(x, experts), weights);
  }
};

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  Json own = config;
  own.erase("head_dim");
  DecoderSettings s{DecoderConfig(own, {.rope_theta = 1e6f, .tie_word_embeddings = false})};
  const int experts = c.integer("num_local_experts", 8);
  const int chosen = c.integer("num_experts_per_tok", 2, 1, experts);
  const tensor::ExpertSettings of{
      .experts = experts, .dims = s.config.hidden_size, .hidden = s.config.intermediate_size};
  s.feed_forward = [=](int, const tensor::Weights& block) -> FeedForward {
    const auto at = block["block_sparse_moe"];
    at.stack("experts.{}.w1", experts, "switch_mlp.gate_proj");
    at.stack("experts.{}.w2", experts, "switch_mlp.down_proj");
    at.stack("experts.{}.w3", experts, "switch_mlp.up_proj");
    return SparseMoe{{at["gate"], experts, of.dims}, {at["switch_mlp"], of}, chosen};
  };
  return make_decoder(s, w);
}

const Registered mixtral{{
    .model_types = {"mixtral"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, false); },
    .tool_calls = ToolDialect::mistral,
}};

}  // namespace
}  // namespace hearth::models
