// The gated feed-forward block: down(activation(gate(x)) · up(x)).
#pragma once

#include "tensor/activation.h"
#include "tensor/linear.h"

namespace hearth::tensor {

struct MlpSettings {
  int dims = 0;    // D
  int hidden = 0;  // F
  Activation activation = Activation::silu;
  bool bias = false;
  bool fused = false;  // one gate_up_proj, gate first
};

/// Source: arXiv 2002.05202; mlx-lm's MLP of the llama and gemma families.
class GatedMlp {
 public:
  GatedMlp(const Weights& w, const MlpSettings& s);
  /// x [1, T, D] -> [1, T, D]
  Array operator()(const Array& x) const { return down_proj_(inner(x)); }
  /// residual + the block
  Array plus(const Array& residual, const Array& x) const {
    return down_proj_.plus(residual, inner(x));
  }

 private:
  Array inner(const Array& x) const;  // activation(gate(x)) · up(x)

  FusedLinear gate_up_;
  Linear down_proj_;
  Activation activation_;
};

}  // namespace hearth::tensor
