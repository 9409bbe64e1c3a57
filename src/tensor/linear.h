// y = x·Wᵀ + b and the embedding table, dense or affine-quantised, on MLX ops or on our kernels.
// A model never knows which.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tensor/array.h"
#include "tensor/kernels/kernels.h"
#include "tensor/weights.h"

namespace hearth::tensor {

/// One matrix [N, K], or one an expert [E, N, K], as MLX packs them.
struct QuantizedWeight {
  /// Takes `weight`, `scales` and, where there are any, `biases` of the view.
  /// @param shape  of the numbers
  QuantizedWeight(const Weights& w, Shape shape, const Quantization& q);
  Array dequantized(mx::Dtype dtype) const;
  /// Of a single matrix.
  std::shared_ptr<const kernels::PackedLinear> packed(const std::optional<Array>& bias) const;

  Quantization quantization;
  Array weight, scales;
  std::optional<Array> biases;  // affine only
};

/// `weight` of the view. @throws WeightError where it is missing, misshapen or not of floats
Array take_float(const Weights& w, const Shape& shape);

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
  std::optional<Array> weight_, bias_;
  std::optional<QuantizedWeight> quantized_;
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

/// Several products of one x: layers of their own, or one layer whose outputs are split.
class FusedLinear {
 public:
  /// @param layers, outputs  of each, side by side
  FusedLinear(const std::vector<Weights>& layers, std::vector<int> outputs, int inputs, bool bias);
  /// One layer that holds them all. Source: mlx-lm's qkv_proj and gate_up_proj of phi3.
  FusedLinear(const Weights& w, std::vector<int> outputs, int inputs, bool bias);

  /// x [..., K] -> each [..., N]
  std::vector<Array> operator()(const Array& x) const;
  /// x [..., K] -> [..., N1 + N2 + ...]; on the kernels only
  Array together(const Array& x) const;
  bool packed() const { return layers_.front().matrix().packed() != nullptr; }

 private:
  std::vector<Array> split(const Array& all) const;

  std::vector<Linear> layers_;
  std::vector<int> outputs_;
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
