// The block formats of GGUF as rows of MLX affine words, or as floats.
// Plain loops over bytes; leaves out files and arrays.
// Source of the layouts: github.com/ggml-org/ggml, src/ggml-common.h.
#pragma once

#include <cstdint>

#include "tensor/gguf_types.h"

namespace hearth::tensor {

/// Weights of one affine group, the same for every type here.
inline constexpr int gguf_group = 32;

/// Where one row's words, scales and biases go.
struct AffineRow {
  std::uint32_t* words;   // [K · bits / 32], the least significant bits first
  std::uint16_t* scales;  // [K / 32] float16
  std::uint16_t* biases;  // [K / 32] float16
};

/// One row of `count` weights (a multiple of the type's block) as affine words of the type's bits:
/// weight = scale · code + bias. Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 keep every value; Q4_K and Q5_K
/// keep their codes, with scale and bias rounded to float16; Q2_K, Q3_K and Q6_K are quantised anew
/// within each group's range.
/// @pre   the type has bits > 0
/// @return false if a scale or bias is not a finite float16; the row is then not to be used
bool affine_row(GgufType type, const std::uint8_t* blocks, std::int64_t count, AffineRow out);

/// One row of `count` weights (a multiple of the type's block) as float32.
/// @pre the type is F32, F16, BF16, Q2_K, Q3_K or Q6_K
void float_row(GgufType type, const std::uint8_t* blocks, std::int64_t count, float* out);

}  // namespace hearth::tensor
