// A language model's graph: tokens of a flat step in, hidden states and logits out.
// Leaves out batching, caches and quantisation: the tensor library's layers know those.
#pragma once

#include <vector>

#include "tensor/cache/layer_cache.h"

namespace hearth::models {

using tensor::Array;
using tensor::CacheSpec;
using tensor::StepCache;

class Model {
 public:
  virtual ~Model() = default;

  /// @param tokens  [1, T] int32, every row's tokens one after another
  /// @return        [1, T, D] before the final norm; every row's caches are written
  virtual Array forward(const Array& tokens, StepCache& cache) const = 0;

  /// What embeddings are pooled from: the final norm. @param hidden [1, R, D] -> [1, R, D]
  virtual Array normalised(const Array& hidden) const = 0;

  /// Final norm and output head. @param hidden [1, R, D] -> [1, R, V]
  virtual Array logits(const Array& hidden) const = 0;

  /// One a layer, in order.
  virtual std::vector<CacheSpec> caches() const = 0;

  /// V, the rows of the output head.
  virtual int vocab_size() const = 0;
};

}  // namespace hearth::models
