#include "tensor/mlp.h"

namespace hearth::tensor {

GatedMlp::GatedMlp(const Weights& w, const MlpSettings& s)
    : gate_proj_(w["gate_proj"], s.hidden, s.dims, s.bias),
      up_proj_(w["up_proj"], s.hidden, s.dims, s.bias),
      down_proj_(w["down_proj"], s.dims, s.hidden, s.bias), activation_(s.activation) {}

Array GatedMlp::inner(const Array& x) const {
  const auto& gate = gate_proj_.matrix().packed();
  if (!gate) return gated(gate_proj_(x), up_proj_(x), activation_);
  const std::shared_ptr<const kernels::PackedLinear> both[] = {gate, up_proj_.matrix().packed()};
  return kernels::gated(kernels::linear(x, both), activation_ == Activation::silu
                                                      ? kernels::Activation::silu
                                                      : kernels::Activation::gelu_tanh);
}

}  // namespace hearth::tensor
