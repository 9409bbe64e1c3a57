// How tokens choose their experts, and what becomes of the experts' outputs.
#pragma once

#include "models/decoder.h"
#include "tensor/experts.h"

namespace hearth::models {

/// Each token's experts and their weights, [1, T, k] both.
struct Chosen {
  Array experts, weights;
};

/// In which order a reference takes the largest, and so adds up their outputs.
enum class Order {
  last_of_ascending,   // argpartition(x, -k)[-k:]
  first_of_negatives,  // argpartition(-x, k - 1)[:k]
};

/// The k likeliest by softmax. Source: mlx-lm models/qwen3_moe.py, qwen2_moe.py.
/// @param logits [1, T, E]; @param normalise whether the weights add up to one
Chosen choose_likeliest(const Array& logits, int k, bool normalise, Order order);

/// The k largest, with the softmax over these. Source: mlx-lm models/gpt_oss.py, mixtral.py.
Chosen choose_largest(const Array& logits, int k, Order order, bool precise = true);

/// Choice by sigmoid and a bias that only chooses, among the best groups of experts.
struct GroupedChoice {
  int k = 0;
  int groups = 1, kept_groups = 1;
  float scale = 1;  // of the weights
  bool normalise = true;
};
/// Source: mlx-lm models/deepseek_v3.py, group_expert_select; arXiv 2412.19437.
/// @param bias [E]
Chosen choose_grouped(const Array& logits, const Array& bias, const GroupedChoice& how);

/// Σ weight · output over each token's experts. @param outputs [1, T, k, D] -> [1, T, D]
Array weighted_sum(const Array& outputs, const Array& weights);

/// Experts chosen in groups, beside `shared` of them that every token takes.
/// @param mlp  holds gate.weight, gate.e_score_correction_bias, the experts and shared_experts
FeedForward sparse_moe(const tensor::Weights& mlp, const tensor::ExpertSettings& s, int shared,
                       const GroupedChoice& how);

/// The view of stacked experts: `switch_mlp` of `mlp`, made of `experts.N.*` where they come
/// singly.
tensor::Weights stacked_experts(const tensor::Weights& mlp, int experts);

}  // namespace hearth::models
