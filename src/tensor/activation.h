// Gated activations, with the rounding that mlx-lm's compiled closures give.
#pragma once

#include "tensor/array.h"

namespace hearth::tensor {

enum class Activation { silu, gelu_tanh };

/// activation(gate) · up on MLX ops. gate, up [..., D] any float -> the same.
/// Source: mlx-lm models/activations.py (swiglu); mlx.nn.gelu_approx.
Array gated(const Array& gate, const Array& up, Activation activation);

}  // namespace hearth::tensor
