// One step on the device: rows' tokens through the model, logits of those that want them.
#pragma once

#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/sampling.h"
#include "models/model.h"

namespace hearth::engine {

/// What one row brings to a step.
struct RowWork {
  tensor::SequenceCache* cache;
  std::span<const TokenId> tokens;
  int wanted;  // of its last tokens, as many as their logits are wanted of
};

/// [V] in the model's dtype for each token that a row's logits are wanted of, or what went wrong in
/// words. The caches of a row that failed are lost.
using RowLogits = tl::expected<std::vector<tensor::Array>, std::string>;

class Runner {
 public:
  /// @param shared  one flat forward for all rows; else each row runs its own (tier l1)
  Runner(const models::Model& model, bool shared) : model_(model), shared_(shared) {}

  /// Runs the rows and evaluates. Where a shared forward fails, by memory or otherwise, each row
  /// is run alone if the caches can go back to where they were, so that only those fail that fail
  /// by themselves.
  /// @return one a row
  std::vector<RowLogits> run(std::span<const RowWork> rows) const;

 private:
  std::vector<tensor::Array> forward(std::span<const RowWork> rows) const;
  std::vector<RowLogits> together(std::span<const RowWork> rows) const;
  RowLogits alone(const RowWork& row) const;

  const models::Model& model_;
  const bool shared_;
};

/// mlx-lm's log-probabilities: logits − logsumexp(logits) in their own dtype, widened to float32.
/// The rounding makes ties that decide greedy tokens. Source: mlx-lm generate.py, generate_step.
/// @param logits [V]; @return [V] float32, evaluated
tensor::Array l1_logprobs(const tensor::Array& logits);

/// Rounds a float32 to a float dtype and back.
float (*rounding_to(mlx::core::Dtype dtype))(float);

}  // namespace hearth::engine
