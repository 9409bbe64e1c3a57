#include "tensor/linear.h"

namespace hearth::tensor {

Matrix::Matrix(const Weights& w, int outputs, int inputs, bool bias)
    : outputs_(outputs), inputs_(inputs), quantization_(w.quantization(inputs)) {
  if (quantization_) {
    const auto [group_size, bits] = *quantization_;
    const int words = static_cast<int>(std::int64_t{inputs} * bits / 32);
    weight_ = w.take("weight", {outputs, words});
    scales_ = w.take("scales", {outputs, inputs / group_size});
    biases_ = w.take("biases", {outputs, inputs / group_size});
    if (weight_->dtype() != mx::uint32) {
      throw WeightError(w.prefix() + ".weight is " + to_string(weight_->dtype()) +
                        ", expected uint32 words beside its scales");
    }
  } else {
    weight_ = w.take("weight", {outputs, inputs});
    if (!mx::issubdtype(weight_->dtype(), mx::floating)) {
      throw WeightError(w.prefix() + ".weight is " + to_string(weight_->dtype()) +
                        " without scales, expected a float type");
    }
  }
  if (bias) bias_ = w.take("bias", {outputs});
  if (w.execution() == Execution::kernels) pack();
}

void Matrix::pack() {
  using kernels::PackedLinear;
  if (!quantization_) {
    packed_ = PackedLinear::dense(*weight_, bias_);
  } else {
    const auto [group_size, bits] = *quantization_;
    packed_ = PackedLinear::takes_affine(outputs_, inputs_, group_size, bits)
                  ? PackedLinear::affine(*weight_, *scales_, *biases_, group_size, bits, bias_)
                  : PackedLinear::dense(mx::dequantize(*weight_, *scales_, biases_, group_size,
                                                       bits, "affine", {}, mx::float32),
                                        bias_);
  }
  weight_.reset();
  scales_.reset();
  biases_.reset();
  bias_.reset();
}

Array Matrix::product(const Array& x) const {
  if (packed_) return kernels::linear(x, packed_);
  if (!quantization_) {
    const auto transposed = mx::transpose(*weight_);
    return bias_ ? mx::addmm(*bias_, x, transposed) : mx::matmul(x, transposed);
  }
  auto y = mx::quantized_matmul(x, *weight_, *scales_, biases_, true, quantization_->group_size,
                                quantization_->bits);
  return bias_ ? y + *bias_ : y;
}

Array Linear::plus(const Array& residual, const Array& x) const {
  if (const auto& weights = matrix_.packed()) return kernels::linear_plus(residual, x, weights);
  return residual + matrix_.product(x);
}

Array Matrix::rows(const Array& ids) const {
  if (packed_) {
    const auto flat = packed_->rows(mx::flatten(ids));
    auto shape = ids.shape();
    shape.push_back(inputs_);
    return mx::reshape(flat, shape);
  }
  const auto words = mx::take(*weight_, ids, 0);
  if (!quantization_) return words;
  return mx::dequantize(words, mx::take(*scales_, ids, 0), mx::take(*biases_, ids, 0),
                        quantization_->group_size, quantization_->bits);
}

}  // namespace hearth::tensor
