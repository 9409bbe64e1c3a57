// One step on the device: rows' tokens through the model, logits of those that want them.
#pragma once

#include <span>
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

class Runner {
 public:
  /// @param shared  one flat forward for all rows; else each row runs its own (tier l1)
  Runner(const models::Model& model, bool shared) : model_(model), shared_(shared) {}

  /// Runs the rows and evaluates.
  /// @return [V] in the model's dtype, row by row, for each token that logits are wanted of
  /// @throws what MLX throws; the caches of these rows are then lost
  std::vector<tensor::Array> run(std::span<const RowWork> rows) const;

 private:
  std::vector<tensor::Array> forward(std::span<const RowWork> rows) const;

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
