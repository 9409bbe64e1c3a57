#include "tensor/gguf_types.h"

#include <algorithm>
#include <iterator>

namespace hearth::tensor {
namespace {

constexpr GgufType other(std::uint32_t id) { return static_cast<GgufType>(id); }

constexpr GgufTypeInfo types[] = {
    {GgufType::f32, "F32", 1, 4, 0},       {GgufType::f16, "F16", 1, 2, 0},
    {GgufType::bf16, "BF16", 1, 2, 0},     {GgufType::q4_0, "Q4_0", 32, 18, 4},
    {GgufType::q4_1, "Q4_1", 32, 20, 4},   {GgufType::q5_0, "Q5_0", 32, 22, 5},
    {GgufType::q5_1, "Q5_1", 32, 24, 5},   {GgufType::q8_0, "Q8_0", 32, 34, 8},
    {GgufType::q2_k, "Q2_K", 256, 84, 6},  {GgufType::q3_k, "Q3_K", 256, 110, 6},
    {GgufType::q4_k, "Q4_K", 256, 144, 4}, {GgufType::q5_k, "Q5_K", 256, 176, 5},
    {GgufType::q6_k, "Q6_K", 256, 210, 8}, {other(9), "Q8_1", 32, 36, -1},
    {other(15), "Q8_K", 256, 292, -1},     {other(16), "IQ2_XXS", 256, 66, -1},
    {other(17), "IQ2_XS", 256, 74, -1},    {other(18), "IQ3_XXS", 256, 98, -1},
    {other(19), "IQ1_S", 256, 50, -1},     {other(20), "IQ4_NL", 32, 18, -1},
    {other(21), "IQ3_S", 256, 110, -1},    {other(22), "IQ2_S", 256, 82, -1},
    {other(23), "IQ4_XS", 256, 136, -1},   {other(24), "I8", 1, 1, -1},
    {other(25), "I16", 1, 2, -1},          {other(26), "I32", 1, 4, -1},
    {other(27), "I64", 1, 8, -1},          {other(28), "F64", 1, 8, -1},
    {other(29), "IQ1_M", 256, 56, -1},     {other(34), "TQ1_0", 256, 54, -1},
    {other(35), "TQ2_0", 256, 66, -1},     {other(39), "MXFP4", 32, 17, -1},
};

}  // namespace

const GgufTypeInfo* find_gguf_type(std::uint32_t id) {
  const auto* found = std::ranges::find(types, static_cast<GgufType>(id), &GgufTypeInfo::id);
  return found == std::end(types) ? nullptr : found;
}

}  // namespace hearth::tensor
