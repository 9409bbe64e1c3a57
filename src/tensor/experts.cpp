#include "tensor/experts.h"

namespace hearth::tensor {
namespace {

Array of_expert(const Array& all, int expert) {
  Shape start(all.ndim(), 0), stop = all.shape();
  start[0] = expert;
  stop[0] = expert + 1;
  return mx::squeeze(mx::slice(all, start, stop), 0);
}

/// mlx-lm models/activations.py, swiglu_oai with its constants.
Array clipped_swiglu(const Array& up, const Array& gate) {
  const auto like = [&](float value) { return Array(value, up.dtype()); };
  const auto g = mx::minimum(gate, like(7));
  const auto x = mx::clip(up, like(-7), like(7));
  return (x + like(1)) * (g * mx::sigmoid(like(1.702f) * g));
}

}  // namespace

ExpertLinear::ExpertLinear(const Weights& w, int experts, int outputs, int inputs, bool bias) {
  if (const auto quantization = w.quantization(inputs)) {
    quantized_.emplace(w, Shape{experts, outputs, inputs}, *quantization);
  } else {
    weight_ = take_float(w, {experts, outputs, inputs});
  }
  if (bias) bias_ = w.take("bias", {experts, outputs});
  if (w.execution() == Execution::kernels && w.faults().empty()) pack(experts);
}

void ExpertLinear::pack(int experts) {
  for (int e = 0; e < experts; ++e) {
    const auto bias = bias_ ? std::optional(of_expert(*bias_, e)) : std::nullopt;
    if (!quantized_) {
      packed_.push_back(kernels::PackedLinear::dense(of_expert(*weight_, e), bias));
      continue;
    }
    QuantizedWeight own = *quantized_;
    own.weight = of_expert(own.weight, e);
    own.scales = of_expert(own.scales, e);
    if (own.biases) own.biases = of_expert(*own.biases, e);
    packed_.push_back(own.packed(bias));
  }
  weight_.reset();
  quantized_.reset();
  bias_.reset();
}

Array ExpertLinear::operator()(const Array& x, const Array& experts, bool sorted) const {
  const auto y = [&] {
    if (!quantized_) {
      return mx::gather_mm(x, mx::swapaxes(*weight_, -1, -2), {}, experts, sorted);
    }
    const auto& [group_size, bits, mode] = quantized_->quantization;
    return mx::gather_qmm(x, quantized_->weight, quantized_->scales, quantized_->biases, {},
                          experts, true, group_size, bits, mode, {}, sorted);
  }();
  return bias_ ? y + mx::expand_dims(mx::take(*bias_, experts, 0), -2) : y;
}

Experts::Experts(const Weights& w, const ExpertSettings& s)
    : s_(s), gate_proj_(w["gate_proj"], s.experts, s.hidden, s.dims, s.bias),
      up_proj_(w["up_proj"], s.experts, s.hidden, s.dims, s.bias),
      down_proj_(w["down_proj"], s.experts, s.dims, s.hidden, s.bias) {}

Array Experts::activate(const Array& up, const Array& gate) const {
  if (s_.activation == ExpertActivation::clipped_swiglu) return clipped_swiglu(up, gate);
  const bool silu = s_.activation == ExpertActivation::swiglu;
  return gated(gate, up, silu ? Activation::silu : Activation::gelu_tanh);
}

Array Experts::on_kernels(const Array& x, const Array& chosen) const {
  const int tokens = chosen.shape(1), each = chosen.shape(2);
  const auto ids = mx::reshape(chosen, {tokens, each});
  const auto flat = mx::reshape(x, {tokens, 1, s_.dims});
  const auto gate = kernels::expert_linear(flat, ids, gate_proj_.packed());  // [T, k, F]
  const auto up = kernels::expert_linear(flat, ids, up_proj_.packed());
  const auto down = kernels::expert_linear(activate(up, gate), ids, down_proj_.packed());
  return mx::reshape(down, {1, tokens, each, s_.dims});
}

Array Experts::operator()(const Array& x, const Array& chosen) const {
  if (!gate_proj_.packed().empty()) return on_kernels(x, chosen);
  constexpr int least_sorted = 64;  // choices; fewer are not worth their order
  auto inputs = mx::expand_dims(x, std::vector<int>{-2, -3});  // [1, T, 1, 1, D]
  if (static_cast<int>(chosen.size()) < least_sorted) {
    const auto hidden =
        activate(up_proj_(inputs, chosen, false), gate_proj_(inputs, chosen, false));
    return mx::squeeze(down_proj_(hidden, chosen, false), -2);
  }
  const auto flat = mx::flatten(chosen);
  const auto order = mx::argsort(flat);
  const auto back = mx::argsort(order);
  const auto token = mx::floor_divide(order, Array(chosen.shape(-1), order.dtype()));
  inputs = mx::take(mx::flatten(inputs, 0, -3), token, 0);  // [T · k, 1, D]
  const auto ids = mx::take(flat, order, 0);
  const auto hidden = activate(up_proj_(inputs, ids, true), gate_proj_(inputs, ids, true));
  const auto out = mx::take(down_proj_(hidden, ids, true), back, 0);
  return mx::squeeze(mx::unflatten(out, 0, chosen.shape()), -2);
}

}  // namespace hearth::tensor
