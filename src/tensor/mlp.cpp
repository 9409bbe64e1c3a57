#include "tensor/mlp.h"

namespace hearth::tensor {
namespace {

FusedLinear gate_up(const Weights& w, const MlpSettings& s) {
  if (s.fused) return {w["gate_up_proj"], {s.hidden, s.hidden}, s.dims, s.bias};
  return {{w["gate_proj"], w["up_proj"]}, {s.hidden, s.hidden}, s.dims, s.bias};
}

}  // namespace

GatedMlp::GatedMlp(const Weights& w, const MlpSettings& s)
    : gate_up_(gate_up(w, s)), down_proj_(w["down_proj"], s.dims, s.hidden, s.bias),
      activation_(s.activation) {}

Array GatedMlp::inner(const Array& x) const {
  if (!gate_up_.packed() || activation_ == Activation::gelu) {
    const auto parts = gate_up_(x);
    return gated(parts[0], parts[1], activation_);
  }
  return kernels::gated(gate_up_.together(x), activation_ == Activation::silu
                                                  ? kernels::Activation::silu
                                                  : kernels::Activation::gelu_tanh);
}

}  // namespace hearth::tensor
