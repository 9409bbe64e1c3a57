// y = x·Wᵀ + b and the embedding table, dense or affine-quantised, on MLX ops or on our kernels.
// A model never knows which.
#pragma once

#include <memory>
#include <optional>

#include "tensor/array.h"
#include "tensor/kernels/kernels.h"
#include "tensor/weights.h"

namespace hearth::tensor {

/// A matrix [N, K] as the checkpoint holds it, or packed for the kernels.
class Matrix {
 public:
  /// Takes `weight` (and `scales`, `biases`, `bias`) of the view.
  /// @throws WeightError as Weights does
  Matrix(const Weights& w, int outputs, int inputs, bool bias);

  /// x [..., K] -> [..., N] in x's dtype
  Array product(const Array& x) const;
  /// ids [...] int32 -> [..., K]
  Array rows(const Array& ids) const;
  const std::shared_ptr<const kernels::PackedLinear>& packed() const { return packed_; }
  int outputs() const { return outputs_; }

 private:
  void pack();

  int outputs_, inputs_;
  std::optional<Array> weight_, scales_, biases_, bias_;
  std::optional<Quantization> quantization_;
  std::shared_ptr<const kernels::PackedLinear> packed_;  // when the kernels run it
};

/// mlx.nn.Linear and QuantizedLinear.
class Linear {
 public:
  Linear(const Weights& w, int outputs, int inputs, bool bias = false)
      : matrix_(w, outputs, inputs, bias) {}
  Array operator()(const Array& x) const { return matrix_.product(x); }
  /// residual + the product
  Array plus(const Array& residual, const Array& x) const;
  const Matrix& matrix() const { return matrix_; }

 private:
  Matrix matrix_;
};

/// mlx.nn.Embedding and QuantizedEmbedding.
class Embedding {
 public:
  Embedding(const Weights& w, int vocab, int dims) : matrix_(w, vocab, dims, false) {}
  /// ids [B, L] int32 -> [B, L, D]
  Array operator()(const Array& ids) const { return matrix_.rows(ids); }
  /// The tied output head: x [B, L, D] -> [B, L, V]
  Array as_linear(const Array& x) const { return matrix_.product(x); }

 private:
  Matrix matrix_;
};

}  // namespace hearth::tensor
