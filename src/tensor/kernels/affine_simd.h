// The quantised product, one block of outputs at a time, per instruction set.
//
// Activations are rounded to 16 bits, each row in groups as wide as the weights' (6e-5 rms error);
// a group's sum of products is then exact in 32-bit integers, so its order is free, and the groups
// are added in float from the first to the last. So a row's result depends on nothing but the row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/kernels/simd.h"

namespace hearth::kernels {

/// Packed weights. Block b holds outputs 16b to 16b + 15 as one record a group of inputs:
/// the quantised values, then 16 scales, then 16 biases. The values: of each output in turn, 32
/// bits; then the next 32 of each. A 32-bit lane is two 16-bit words; of its values the even ones
/// lie in the low word, the odd ones in the high word, from the lowest bits up.
struct AffineView {
  const std::uint8_t* data;  // 64-byte aligned
  int outputs, inputs, group;
  int groups;  // inputs / group, kept because a division an inner loop is felt
  int bits;    // 2, 4 or 8: stored bits of a value
  FloatKind scale_kind;

  std::size_t value_bytes() const { return static_cast<std::size_t>(group) * bits * 2; }
  std::size_t record_bytes() const { return value_bytes() + 2 * block_lanes * size_of(scale_kind); }
  std::size_t block_bytes() const { return record_bytes() * groups; }
};

/// Rows of activations in 16 bits: x ≈ scales[row, group] · values[row, k].
struct QuantizedRows {
  std::int16_t* values;  // [rows, inputs]
  float* scales;         // [rows, groups]
  float* sums;           // [rows, groups]: scale times the sum of the group's values
  int inputs, group, groups;
};

/// Rounds row `row` of x [rows, inputs] into `out`. A group with Inf or NaN becomes NaN.
void quantize_row(const float* x, const QuantizedRows& out, std::size_t row);

/// y [rows, 16] = rows `first_row` and after of x times block `block` of the weights.
void affine_block(const AffineView& weights, std::size_t block, const QuantizedRows& x,
                  std::size_t first_row, std::size_t rows, float* y);

const char* simd_target_name();

}  // namespace hearth::kernels
