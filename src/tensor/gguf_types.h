// The tensor types of GGUF: names, block sizes and what becomes of them.
// Source: github.com/ggml-org/ggml, docs/gguf.md and ggml-common.h (block layouts).
#pragma once

#include <cstdint>
#include <string_view>

namespace hearth::tensor {

enum class GgufType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
};

struct GgufTypeInfo {
  GgufType id;
  std::string_view name;
  int block;        // weights
  int block_bytes;  // of one block
  int bits;         // of the affine words it becomes; 0: dense; -1: not read here
};

/// The row of a type id; null for an id that no GGUF file may have.
const GgufTypeInfo* find_gguf_type(std::uint32_t id);

}  // namespace hearth::tensor
