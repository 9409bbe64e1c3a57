// gpt-oss: a sink a head, windows in every other layer, biases, and experts with a clipped gate.
// Reference: mlx-lm models/gpt_oss.py (tests/golden); arXiv 2508.10925.
#include "models/family.h"
#include "models/moe.h"

namespace hearth::models {
namespace {

struct SparseMoe {
  tensor::Linear router;
  tensor::Experts experts;
  int k;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x) const {
    const auto chosen = choose_largest(router(x), k, Order::last_of_ascending);
    return mlx::core::sum(experts(x, chosen.experts) * mlx::core::expand_dims(chosen.weights, -1),
                          -2);
  }
};

/// Every other layer slides, the first one too, where layer_types does not say otherwise.
Json with_layer_types(Json config) {
  if (!ConfigReader(config).value("layer_types").is_null()) return config;
  config["layer_types"] = Json::array();
  for (int i = 0; i < ConfigReader(config).integer("num_hidden_layers", 36, 1, 4096); ++i) {
    config["layer_types"].push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
  }
  return config;
}

std::unique_ptr<Model> load(const Json& given, const tensor::Weights& w) {
  const Json config = with_layer_types(given);
  const ConfigReader c(config);
  DecoderSettings s{DecoderConfig(config, {.rope_theta = 150000})};
  s.config.tie_word_embeddings = false;
  s.config.rms_norm_eps = c.number("rms_norm_eps", 1e-5f);
  s.attention.qkv_bias = s.attention.output_bias = s.attention.sinks = true;
  s.rope.traditional = false;
  s.windows = sliding_windows(config, s.config.num_hidden_layers);
  const int experts = c.integer("num_local_experts", 128);
  const int chosen = c.integer("num_experts_per_tok", 4, 1, experts);
  const tensor::ExpertSettings of{.experts = experts,
                                  .dims = s.config.hidden_size,
                                  .hidden = s.config.intermediate_size,
                                  .bias = true,
                                  .activation = tensor::ExpertActivation::clipped_swiglu};
  s.feed_forward = [=](int, const tensor::Weights& block) -> FeedForward {
    const auto at = block["mlp"];
    return SparseMoe{{at["router"], experts, of.dims, /*bias=*/true}, {at["experts"], of}, chosen};
  };
  return make_decoder(s, w);
}

const Registered gpt_oss{{
    .model_types = {"gpt_oss"},
    .load = load,
    .tool_calls = ToolDialect::harmony,
}};

}  // namespace
}  // namespace hearth::models
