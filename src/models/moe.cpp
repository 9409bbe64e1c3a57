#include "models/moe.h"

namespace hearth::models {

namespace mx = mlx::core;
using tensor::Shape;

namespace {

/// x[..., from:]
Array last_from(const Array& x, int from) {
  Shape start(x.ndim(), 0);
  start.back() = from;
  return mx::slice(x, start, x.shape());
}

/// x[..., :to]
Array last_until(const Array& x, int to) {
  auto stop = x.shape();
  stop.back() = to;
  return mx::slice(x, Shape(x.ndim(), 0), stop);
}

Array largest(const Array& values, int k, Order order) {
  if (order == Order::first_of_negatives) {
    return last_until(mx::argpartition(-values, k - 1, -1), k);
  }
  const int all = values.shape(-1);
  return last_from(mx::argpartition(values, all - k, -1), all - k);
}

/// The scores of the groups that are not among the best become zero. A group is as good as its two
/// best experts.
Array keep_groups(const Array& scores, const GroupedChoice& how) {
  auto grouped = mx::unflatten(scores, -1, {how.groups, -1});
  const auto quality = mx::sum(mx::topk(grouped, 2, -1), -1, /*keepdims=*/true);
  const int dropped = how.groups - how.kept_groups;
  const auto order = mx::argpartition(quality, dropped - 1, -2);
  auto stop = order.shape();
  stop[stop.size() - 2] = dropped;
  const auto worst = mx::slice(order, Shape(order.ndim(), 0), stop);
  grouped = mx::put_along_axis(grouped, worst, Array(0.0f), -2);
  return mx::flatten(grouped, -2, -1);
}

/// Source: mlx-lm models/deepseek_v3.py, DeepseekV3MoE; glm4_moe.py, MoE.
struct GroupedMoe {
  Array gate, e_score_correction_bias;  // [E, D], [E]
  tensor::Experts switch_mlp;
  std::optional<tensor::GatedMlp> shared_experts;
  GroupedChoice how;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x) const {
    const auto logits = mx::matmul(x, mx::transpose(gate));
    const auto [experts, weights] = choose_grouped(logits, e_score_correction_bias, how);
    const auto y = weighted_sum(switch_mlp(x, experts), weights);
    return shared_experts ? y + (*shared_experts)(x) : y;
  }
};

}  // namespace

Chosen choose_likeliest(const Array& logits, int k, bool normalise, Order order) {
  const auto gates = mx::softmax(logits, -1, /*precise=*/true);
  const auto experts = largest(gates, k, order);
  auto weights = mx::take_along_axis(gates, experts, -1);
  if (normalise) weights = weights / mx::sum(weights, -1, /*keepdims=*/true);
  return {experts, weights};
}

Chosen choose_largest(const Array& logits, int k, Order order, bool precise) {
  const auto experts = largest(logits, k, order);
  return {experts, mx::softmax(mx::take_along_axis(logits, experts, -1), -1, precise)};
}

Chosen choose_grouped(const Array& logits, const Array& bias, const GroupedChoice& how) {
  const auto gates = mx::sigmoid(mx::astype(logits, mx::float32));
  auto scores = gates + bias;
  if (how.groups > 1) scores = keep_groups(scores, how);
  const auto experts = largest(scores, how.k, Order::first_of_negatives);
  auto weights = mx::take_along_axis(gates, experts, -1);
  if (how.k > 1 && how.normalise) weights = weights / mx::sum(weights, -1, /*keepdims=*/true);
  return {experts, tensor::times(weights, how.scale)};
}

Array weighted_sum(const Array& outputs, const Array& weights) {
  return mx::astype(mx::sum(outputs * mx::expand_dims(weights, -1), -2), outputs.dtype());
}

FeedForward sparse_moe(const tensor::Weights& mlp, const tensor::ExpertSettings& s, int shared,
                       const GroupedChoice& how) {
  const auto gate = mlp["gate"];
  GroupedMoe moe{gate.take("weight", {s.experts, s.dims}),
                 gate.take("e_score_correction_bias", {s.experts}),
                 {stacked_experts(mlp, s.experts), s},
                 std::nullopt,
                 how};
  if (mlp.execution() == tensor::Execution::kernels) moe.gate = mx::astype(moe.gate, mx::float32);
  if (shared > 0) {
    moe.shared_experts.emplace(mlp["shared_experts"],
                               tensor::MlpSettings{.dims = s.dims, .hidden = s.hidden * shared});
  }
  return moe;
}

tensor::Weights stacked_experts(const tensor::Weights& mlp, int experts) {
  for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
    mlp.stack(std::string("experts.{}.") + name, experts, std::string("switch_mlp.") + name);
  }
  return mlp["switch_mlp"];
}

}  // namespace hearth::models
