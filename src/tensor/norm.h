// Root-mean-square normalisation, alone and after a residual sum.
#pragma once

#include <optional>
#include <utility>

#include "tensor/array.h"
#include "tensor/weights.h"

namespace hearth::tensor {

/// x / sqrt(mean(x²) + eps) · weight over the last axis. Source: arXiv 1910.07467; mlx.nn.RMSNorm.
class RmsNorm {
 public:
  /// What the checkpoint stores: the weight, or Gemma's weight − 1.
  enum class Stored { weight, weight_minus_one };

  RmsNorm(const Weights& w, int dims, float eps, Stored stored = Stored::weight);

  /// x [..., D] any float -> shape and dtype of x
  Array operator()(const Array& x) const;
  /// {x + r, norm(x + r)}: the residual sum and its normalised form
  std::pair<Array, Array> after_sum(const Array& x, const Array& r) const;

  /// The weight as it multiplies: [D]
  Array weight() const;
  float eps() const { return eps_; }

 private:
  Array weight_;
  float eps_;
  Stored stored_;
  bool kernels_;
};

/// RMSNorm without a weight. x [..., D], float32 on the kernels.
Array unit_norm(const Array& x, float eps, Execution execution);

/// (x - mean) / sqrt(variance + eps) · weight + bias over the last axis. Source: arXiv 1607.06450;
/// mlx.nn.LayerNorm.
class LayerNorm {
 public:
  LayerNorm(const Weights& w, int dims, float eps, bool bias = true);
  /// x [..., D] any float -> shape and dtype of x
  Array operator()(const Array& x) const;

 private:
  Array weight_;
  std::optional<Array> bias_;
  float eps_;
};

}  // namespace hearth::tensor
