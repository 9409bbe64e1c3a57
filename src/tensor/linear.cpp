#include "tensor/linear.h"

#include <numeric>

namespace hearth::tensor {

QuantizedWeight::QuantizedWeight(const Weights& w, Shape shape, const Quantization& q)
    : quantization(q), weight(Array(0)), scales(Array(0)) {
  const int inputs = shape.back();
  shape.back() = static_cast<int>(std::int64_t{inputs} * q.bits / 32);
  weight = w.take("weight", shape);
  if (weight.dtype() != mx::uint32 && w.faults().empty()) {
    throw WeightError(w.prefix() + ".weight is " + to_string(weight.dtype()) +
                      ", expected uint32 words beside its scales");
  }
  shape.back() = inputs / q.group_size;
  scales = w.take("scales", shape);
  if (q.affine()) biases = w.take("biases", shape);
}

Array QuantizedWeight::dequantized(mx::Dtype dtype) const {
  return mx::dequantize(weight, scales, biases, quantization.group_size, quantization.bits,
                        quantization.mode, {}, dtype);
}

std::shared_ptr<const kernels::PackedLinear> QuantizedWeight::packed(
    const std::optional<Array>& bias) const {
  using kernels::PackedLinear;
  const auto& [group_size, bits, mode] = quantization;
  // The float formats hold few enough bits that bfloat16 has all their numbers.
  if (!quantization.affine()) return PackedLinear::dense(dequantized(mx::bfloat16), bias);
  const int inputs = scales.shape(-1) * group_size;
  return PackedLinear::takes_affine(weight.shape(-2), inputs, group_size, bits)
             ? PackedLinear::affine(weight, scales, *biases, group_size, bits, bias)
             : PackedLinear::dense(dequantized(mx::float32), bias);
}

Array take_float(const Weights& w, const Shape& shape) {
  auto weight = w.take("weight", shape);
  if (!mx::issubdtype(weight.dtype(), mx::floating)) {
    throw WeightError(w.prefix() + ".weight is " + to_string(weight.dtype()) +
                      " without scales, expected a float type");
  }
  return weight;
}

Matrix::Matrix(const Weights& w, int outputs, int inputs, bool bias)
    : outputs_(outputs), inputs_(inputs) {
  if (const auto quantization = w.quantization(inputs)) {
    quantized_.emplace(w, Shape{outputs, inputs}, *quantization);
  } else {
    weight_ = take_float(w, {outputs, inputs});
  }
  if (bias) bias_ = w.take("bias", {outputs});
  if (w.execution() == Execution::kernels && w.faults().empty()) pack();
}

void Matrix::pack() {
  packed_ = quantized_ ? quantized_->packed(bias_) : kernels::PackedLinear::dense(*weight_, bias_);
  weight_.reset();
  quantized_.reset();
  bias_.reset();
}

Array Matrix::product(const Array& x) const {
  if (packed_) return kernels::linear(x, packed_);
  if (!quantized_) {
    const auto transposed = mx::transpose(*weight_);
    return bias_ ? mx::addmm(*bias_, x, transposed) : mx::matmul(x, transposed);
  }
  const auto& [group_size, bits, mode] = quantized_->quantization;
  auto y = mx::quantized_matmul(x, quantized_->weight, quantized_->scales, quantized_->biases, true,
                                group_size, bits, mode);
  return bias_ ? y + *bias_ : y;
}

Array Linear::plus(const Array& residual, const Array& x) const {
  if (const auto& weights = matrix_.packed()) return kernels::linear_plus(residual, x, weights);
  return residual + matrix_.product(x);
}

FusedLinear::FusedLinear(const std::vector<Weights>& layers, std::vector<int> outputs, int inputs,
                         bool bias)
    : outputs_(std::move(outputs)) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers_.emplace_back(layers[i], outputs_[i], inputs, bias);
  }
}

FusedLinear::FusedLinear(const Weights& w, std::vector<int> outputs, int inputs, bool bias)
    : outputs_(std::move(outputs)) {
  layers_.emplace_back(w, std::accumulate(outputs_.begin(), outputs_.end(), 0), inputs, bias);
}

Array FusedLinear::together(const Array& x) const {
  std::vector<std::shared_ptr<const kernels::PackedLinear>> packed;
  for (const auto& layer : layers_) packed.push_back(layer.matrix().packed());
  return kernels::linear(x, packed);
}

std::vector<Array> FusedLinear::split(const Array& all) const {
  std::vector<Array> parts;
  Shape start(all.ndim(), 0), stop = all.shape();
  stop.back() = 0;
  for (const int outputs : outputs_) {
    start.back() = stop.back();
    stop.back() += outputs;
    parts.push_back(mx::slice(all, start, stop));
  }
  return parts;
}

std::vector<Array> FusedLinear::operator()(const Array& x) const {
  if (packed()) return split(together(x));
  if (layers_.size() == 1 && outputs_.size() > 1) return split(layers_.front()(x));
  std::vector<Array> parts;
  for (const auto& layer : layers_) parts.push_back(layer(x));
  return parts;
}

Array Matrix::rows(const Array& ids) const {
  if (packed_) {
    const auto flat = packed_->rows(mx::flatten(ids));
    auto shape = ids.shape();
    shape.push_back(inputs_);
    return mx::reshape(flat, shape);
  }
  if (!quantized_) return mx::take(*weight_, ids, 0);
  QuantizedWeight some = *quantized_;
  some.weight = mx::take(some.weight, ids, 0);
  some.scales = mx::take(some.scales, ids, 0);
  if (some.biases) some.biases = mx::take(*some.biases, ids, 0);
  const auto& [group_size, bits, mode] = some.quantization;
  return mx::dequantize(some.weight, some.scales, some.biases, group_size, bits, mode);
}

}  // namespace hearth::tensor
