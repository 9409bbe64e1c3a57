#include "tensor/gguf_blocks.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "tensor/half.h"

namespace hearth::tensor {
namespace {

constexpr int group = gguf_group;
constexpr int super_block = 256;  // of the K types

std::uint16_t read_half(const std::uint8_t* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return bits;
}

bool finite(std::uint16_t half) { return (half & 0x7c00u) != 0x7c00u; }

/// 32 codes as one little-endian stream of bits.
template <int bits>
void pack_group(const std::uint8_t* codes, std::uint32_t* words) {
  auto* out = reinterpret_cast<std::uint8_t*>(words);
  if constexpr (bits == 8) {
    std::memcpy(out, codes, group);
    return;
  }
  for (int i = 0; i < group; i += 8) {
    std::uint64_t stream = 0;
    for (int j = 0; j < 8; ++j) stream |= static_cast<std::uint64_t>(codes[i + j]) << (bits * j);
    std::memcpy(out + i * bits / 8, &stream, bits);
  }
}

/// Low nibbles are the first 16 codes, high nibbles the last.
void unpack_nibbles(const std::uint8_t* bytes, std::uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[i + 16] = bytes[i] >> 4;
  }
}

/// Adds bit i of a 32-bit field as the fifth bit of code i.
void add_fifth_bits(const std::uint8_t* field, std::uint8_t* codes) {
  std::uint32_t bits;
  std::memcpy(&bits, field, sizeof(bits));
  for (int i = 0; i < group; ++i) codes[i] |= static_cast<std::uint8_t>((bits >> i & 1u) << 4);
}

/// Exact: a power of two times a float16, while it stays finite.
std::uint16_t times(std::uint16_t half, float factor) {
  return float_to_half(half_to_float(half) * factor);
}

struct Group {
  std::uint8_t codes[group];
  std::uint16_t scale, bias;
};

// The exact formats: one block is one group. Layouts: q*_0 is {d, ...}, q*_1 is {d, m, ...}.

void q8_0(const std::uint8_t* block, Group& out) {
  out.scale = read_half(block);
  out.bias = times(out.scale, -128);
  for (int i = 0; i < group; ++i) out.codes[i] = block[2 + i] ^ 0x80u;  // int8 + 128
}

void q4_0(const std::uint8_t* block, Group& out) {
  out.scale = read_half(block);
  out.bias = times(out.scale, -8);
  unpack_nibbles(block + 2, out.codes);
}

void q4_1(const std::uint8_t* block, Group& out) {
  out.scale = read_half(block);
  out.bias = read_half(block + 2);
  unpack_nibbles(block + 4, out.codes);
}

void q5_0(const std::uint8_t* block, Group& out) {
  out.scale = read_half(block);
  out.bias = times(out.scale, -16);
  unpack_nibbles(block + 6, out.codes);
  add_fifth_bits(block + 2, out.codes);
}

void q5_1(const std::uint8_t* block, Group& out) {
  out.scale = read_half(block);
  out.bias = read_half(block + 2);
  unpack_nibbles(block + 8, out.codes);
  add_fifth_bits(block + 4, out.codes);
}

template <int bits, int block_bytes, auto decode>
bool exact_row(const std::uint8_t* blocks, std::int64_t count, AffineRow out) {
  bool good = true;
  Group decoded;
  for (std::int64_t i = 0; i < count / group; ++i) {
    decode(blocks + i * block_bytes, decoded);
    pack_group<bits>(decoded.codes, out.words + i * bits);
    out.scales[i] = decoded.scale;
    out.biases[i] = decoded.bias;
    good &= finite(decoded.scale) && finite(decoded.bias);
  }
  return good;
}

/// 6-bit scale and minimum of sub-block j of Q4_K and Q5_K.
std::pair<int, int> scale_and_min(const std::uint8_t* packed, int j) {
  if (j < 4) return {packed[j] & 63, packed[j + 4] & 63};
  return {(packed[j + 4] & 15) | packed[j - 4] >> 6 << 4, packed[j + 4] >> 4 | packed[j] >> 6 << 4};
}

/// Q4_K {d, dmin, scales[12], qs[128]} and Q5_K {d, dmin, scales[12], qh[32], qs[128]}: 8 groups
/// with weight = d · scale · code - dmin · min.
template <int bits>
bool k45_row(const std::uint8_t* blocks, std::int64_t count, AffineRow out) {
  constexpr int block_bytes = bits == 4 ? 144 : 176;
  bool good = true;
  std::uint8_t codes[group];
  for (std::int64_t b = 0; b < count / super_block; ++b, blocks += block_bytes) {
    const float d = half_to_float(read_half(blocks));
    const float dmin = half_to_float(read_half(blocks + 2));
    const std::uint8_t* high = blocks + 16;
    const std::uint8_t* low = blocks + block_bytes - 128;
    for (int j = 0; j < 8; ++j) {
      const auto [scale, min] = scale_and_min(blocks + 4, j);
      for (int i = 0; i < group; ++i) {
        codes[i] = low[j / 2 * 32 + i] >> (j % 2 * 4) & 15;
        if constexpr (bits == 5) codes[i] |= static_cast<std::uint8_t>((high[i] >> j & 1) << 4);
      }
      const std::int64_t g = b * 8 + j;
      pack_group<bits>(codes, out.words + g * bits);
      out.scales[g] = float_to_half(d * static_cast<float>(scale));
      out.biases[g] = float_to_half(-dmin * static_cast<float>(min));
      good &= finite(out.scales[g]) && finite(out.biases[g]);
    }
  }
  return good;
}

// The K types of groups of 16, as floats.

/// {scales[16]: 4-bit scale, 4-bit min; qs[64]; d; dmin}
void q2_k(const std::uint8_t* block, float* out) {
  const float d = half_to_float(read_half(block + 80));
  const float dmin = half_to_float(read_half(block + 82));
  for (int i = 0; i < super_block; ++i) {
    const int scales = block[i / 16];
    const int code = block[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    out[i] = d * static_cast<float>(scales & 15) * static_cast<float>(code) -
             dmin * static_cast<float>(scales >> 4);
  }
}

/// {hmask[32], qs[64], scales[12], d}; scales have their low 4 bits in 8 bytes, then the high 2.
void q3_k(const std::uint8_t* block, float* out) {
  const float d = half_to_float(read_half(block + 108));
  const std::uint8_t* packed = block + 96;
  for (int j = 0; j < 16; ++j) {
    const int low = j < 8 ? packed[j] & 15 : packed[j - 8] >> 4;
    const int high = packed[8 + j % 4] >> (j / 4 * 2) & 3;
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    for (int i = j * 16; i < j * 16 + 16; ++i) {
      const int two = block[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      const int third = block[i % 32] >> (i / 32) & 1;
      out[i] = scale * static_cast<float>(two - (third ? 0 : 4));
    }
  }
}

/// {ql[128], qh[64], int8 scales[16], d}
void q6_k(const std::uint8_t* block, float* out) {
  const float d = half_to_float(read_half(block + 208));
  for (int j = 0; j < 16; ++j) {
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(block[192 + j]));
    const int half = j / 8, quarter = j % 8 / 2;  // 128 weights, and 32 of these
    const std::uint8_t* low = block + half * 64 + quarter % 2 * 32 + j % 2 * 16;
    const std::uint8_t* high = block + 128 + half * 32 + j % 2 * 16;
    for (int i = 0; i < 16; ++i) {
      const int code = (low[i] >> (quarter / 2 * 4) & 15) | (high[i] >> (quarter * 2) & 3) << 4;
      out[j * 16 + i] = scale * static_cast<float>(code - 32);
    }
  }
}

/// Spreads the codes over the group's range, rounding bias and scale to float16 first.
template <int bits>
bool quantize_group(const float* x, std::uint32_t* words, std::uint16_t& scale,
                    std::uint16_t& bias) {
  constexpr float top = (1 << bits) - 1;
  const auto [low, high] = std::minmax_element(x, x + group);
  bias = float_to_half(*low);
  const float b = half_to_float(bias);
  scale = float_to_half((*high - b) / top);
  const float s = half_to_float(scale);
  std::uint8_t codes[group];
  for (int i = 0; i < group; ++i) {
    const float code = s > 0 ? std::nearbyint((x[i] - b) / s) : 0.0f;
    codes[i] = static_cast<std::uint8_t>(std::clamp(code, 0.0f, top));
  }
  pack_group<bits>(codes, words);
  return finite(scale) && finite(bias);
}

template <int bits, int block_bytes, auto decode>
bool requantised_row(const std::uint8_t* blocks, std::int64_t count, AffineRow out) {
  bool good = true;
  float x[super_block];
  for (std::int64_t b = 0; b < count / super_block; ++b) {
    decode(blocks + b * block_bytes, x);
    for (int j = 0; j < super_block / group; ++j) {
      const std::int64_t g = b * (super_block / group) + j;
      good &=
          std::all_of(x + j * group, x + (j + 1) * group,
                      [](float v) { return std::isfinite(v); }) &&
          quantize_group<bits>(x + j * group, out.words + g * bits, out.scales[g], out.biases[g]);
    }
  }
  return good;
}

template <int block_bytes, auto decode>
void float_blocks(const std::uint8_t* blocks, std::int64_t count, float* out) {
  for (std::int64_t b = 0; b < count / super_block; ++b) {
    decode(blocks + b * block_bytes, out + b * super_block);
  }
}

template <auto widen>
void widen_row(const std::uint8_t* halves, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = widen(read_half(halves + i * 2));
}

}  // namespace

bool affine_row(GgufType type, const std::uint8_t* blocks, std::int64_t count, AffineRow out) {
  switch (type) {
    case GgufType::q8_0:
      return exact_row<8, 34, q8_0>(blocks, count, out);
    case GgufType::q4_0:
      return exact_row<4, 18, q4_0>(blocks, count, out);
    case GgufType::q4_1:
      return exact_row<4, 20, q4_1>(blocks, count, out);
    case GgufType::q5_0:
      return exact_row<5, 22, q5_0>(blocks, count, out);
    case GgufType::q5_1:
      return exact_row<5, 24, q5_1>(blocks, count, out);
    case GgufType::q4_k:
      return k45_row<4>(blocks, count, out);
    case GgufType::q5_k:
      return k45_row<5>(blocks, count, out);
    case GgufType::q2_k:
      return requantised_row<6, 84, q2_k>(blocks, count, out);
    case GgufType::q3_k:
      return requantised_row<6, 110, q3_k>(blocks, count, out);
    case GgufType::q6_k:
      return requantised_row<8, 210, q6_k>(blocks, count, out);
    case GgufType::f32:
    case GgufType::f16:
    case GgufType::bf16:
      break;
  }
  assert(false);
  return false;
}

void float_row(GgufType type, const std::uint8_t* blocks, std::int64_t count, float* out) {
  switch (type) {
    case GgufType::f32:
      std::memcpy(out, blocks, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case GgufType::f16:
      return widen_row<half_to_float>(blocks, count, out);
    case GgufType::bf16:
      return widen_row<bfloat_to_float>(blocks, count, out);
    case GgufType::q2_k:
      return float_blocks<84, q2_k>(blocks, count, out);
    case GgufType::q3_k:
      return float_blocks<110, q3_k>(blocks, count, out);
    case GgufType::q6_k:
      return float_blocks<210, q6_k>(blocks, count, out);
    default:
      assert(false);
  }
}

}  // namespace hearth::tensor
