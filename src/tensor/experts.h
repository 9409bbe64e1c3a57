// Layers of which every token takes a few: experts and the gated feed-forward made of them.
#pragma once

#include "tensor/activation.h"
#include "tensor/linear.h"

namespace hearth::tensor {

/// The same layer of every expert. mlx-lm's SwitchLinear and QuantizedSwitchLinear.
class ExpertLinear {
 public:
  /// @param w  takes `weight` [E, N, K] (and `scales`, `biases`, `bias` [E, N]) of the view
  ExpertLinear(const Weights& w, int experts, int outputs, int inputs, bool bias);
  /// @param x        [..., 1, K], one for each of `experts`, or one for all of its last axis
  /// @param experts  [...] int; @param sorted whether they ascend
  /// @return         [..., 1, N]
  Array operator()(const Array& x, const Array& experts, bool sorted) const;
  /// Each expert's own, on the kernels; else empty.
  const kernels::PackedExperts& packed() const { return packed_; }

 private:
  void pack(int experts);

  std::optional<Array> weight_, bias_;
  std::optional<QuantizedWeight> quantized_;
  kernels::PackedExperts packed_;
};

/// How gate and up become one: silu(gate) · up, and gpt-oss's, which clips both.
enum class ExpertActivation { swiglu, geglu, clipped_swiglu };

struct ExpertSettings {
  int experts = 0;  // E
  int dims = 0;     // D
  int hidden = 0;   // F
  bool bias = false;
  ExpertActivation activation = ExpertActivation::swiglu;
};

/// down(activation(gate(x)) · up(x)) of the chosen experts. Source: mlx-lm models/switch_layers.py.
class Experts {
 public:
  /// @param w  holds gate_proj, up_proj and down_proj
  Experts(const Weights& w, const ExpertSettings& s);
  /// @param x [1, T, D]; @param chosen [1, T, k] int: experts of each token
  /// @return  [1, T, k, D]
  Array operator()(const Array& x, const Array& chosen) const;

 private:
  Array activate(const Array& up, const Array& gate) const;
  Array on_kernels(const Array& x, const Array& chosen) const;

  ExpertSettings s_;
  ExpertLinear gate_proj_, up_proj_, down_proj_;
};

}  // namespace hearth::tensor
