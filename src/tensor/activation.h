// Gated activations, with the rounding that mlx-lm's compiled closures give.
#pragma once

#include "tensor/array.h"

namespace hearth::tensor {

enum class Activation { silu, gelu_tanh, gelu };

/// activation(gate) · up on MLX ops. gate, up [..., D] any float -> the same.
/// Source: mlx-lm models/activations.py (swiglu); mlx.nn.gelu_approx.
Array gated(const Array& gate, const Array& up, Activation activation);

/// x · Φ(x). Source: mlx.nn.gelu.
Array gelu(const Array& x);

/// c · tanh(x / c). Source: mlx-lm's final_logit_softcapping.
Array softcap(const Array& x, float c);

/// x · factor, as Python multiplies an array by a number: the factor takes x's dtype.
Array times(const Array& x, double factor);

}  // namespace hearth::tensor
