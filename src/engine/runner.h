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
  bool wants_logits;  // of its last token
};

class Runner {
 public:
  /// @param shared  one flat forward for all rows; else each row runs its own (tier l1)
  Runner(const models::Model& model, bool shared) : model_(model), shared_(shared) {}

  /// Runs the rows and evaluates.
  /// @return [V] float32, one for each row with wants_logits, in order
  /// @throws what MLX throws; the caches of these rows are then lost
  std::vector<tensor::Array> run(std::span<const RowWork> rows) const;

 private:
  std::vector<tensor::Array> forward(std::span<const RowWork> rows) const;

  const models::Model& model_;
  const bool shared_;
};

}  // namespace hearth::engine
