// Kernels over one row of numbers: norms, gates, rotations; per instruction set.
#pragma once

#include <cstdint>

#include "tensor/kernels/simd.h"

namespace hearth::kernels {

/// out [count] = x / sqrt(mean(x²) + eps) · weight; `weight` may be null; out may be x.
void rms_norm_row(const float* x, const float* weight, float eps, int count, float* out);

/// out = x + y
void add_row(const float* x, const float* y, int count, float* out);

/// out = silu(gate) · up
void silu_gate_row(const float* gate, const float* up, int count, float* out);
/// out = gelu_tanh(gate) · up
void gelu_gate_row(const float* gate, const float* up, int count, float* out);

/// f16 of each number, to the nearest; finite numbers beyond ±65504 become ±65504.
void to_f16(const float* x, int count, std::uint16_t* out);

}  // namespace hearth::kernels
