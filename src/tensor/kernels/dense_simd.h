// The product with float weights, some blocks of outputs at a time, per instruction set.
// Each output is one chain of fused multiply-adds from the first input to the last, in f32.
#pragma once

#include <cstddef>

#include "tensor/kernels/simd.h"

namespace hearth::kernels {

/// Packed weights [block][input][16 outputs], stored as they came.
struct DenseView {
  const std::byte* data;  // 64-byte aligned
  int outputs, inputs;
  FloatKind kind;

  std::size_t block_bytes() const {
    return static_cast<std::size_t>(inputs) * block_lanes * size_of(kind);
  }
};

/// y[block][row][16] = rows of x [rows, inputs] times `blocks` blocks of the weights.
void dense_blocks(const DenseView& weights, std::size_t first_block, std::size_t blocks,
                  const float* x, std::size_t rows, float* y);

}  // namespace hearth::kernels
