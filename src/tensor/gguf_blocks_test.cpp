// Every block format against a reference that decodes one weight at a time, straight from the
// format's definition.
#include "tensor/gguf_blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "mlx/mlx.h"
#include "tensor/half.h"

namespace hearth::tensor {
namespace {

using Bytes = std::vector<std::uint8_t>;

float half_at(const std::uint8_t* at) {
  return half_to_float(static_cast<std::uint16_t>(at[0] | at[1] << 8));
}

void put_half(std::uint8_t* at, float value) {
  const std::uint16_t bits = float_to_half(value);
  std::memcpy(at, &bits, 2);
}

/// Weight i of one block. The K types' formulas are those of the format's description:
/// super-blocks of 256 in sub-blocks of 16 or 32 with packed scales.
float weight(GgufType type, const std::uint8_t* b, int i) {
  const auto nibble = [&](const std::uint8_t* qs) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; };
  const auto fifth = [&](const std::uint8_t* qh) { return (qh[i / 8] >> (i % 8) & 1) << 4; };
  switch (type) {
    case GgufType::q8_0:
      return half_at(b) * static_cast<std::int8_t>(b[2 + i]);
    case GgufType::q4_0:
      return half_at(b) * (nibble(b + 2) - 8);
    case GgufType::q4_1:
      return half_at(b) * nibble(b + 4) + half_at(b + 2);
    case GgufType::q5_0:
      return half_at(b) * ((nibble(b + 6) | fifth(b + 2)) - 16);
    case GgufType::q5_1:
      return half_at(b) * (nibble(b + 8) | fifth(b + 4)) + half_at(b + 2);
    case GgufType::q2_k: {
      const int s = b[i / 16];
      const int within = i % 128;
      const int q = b[16 + (i / 128) * 32 + within % 32] >> (2 * (within / 32)) & 3;
      return half_at(b + 80) * (s % 16) * q - half_at(b + 82) * (s / 16);
    }
    case GgufType::q3_k: {
      const int j = i / 16;
      const std::uint8_t* s = b + 96;
      const int low4 = j < 8 ? s[j] % 16 : s[j - 8] / 16;
      const int high2 = s[8 + j % 4] >> (2 * (j / 4)) & 3;
      const int within = i % 128;
      const int low = b[32 + (i / 128) * 32 + within % 32] >> (2 * (within / 32)) & 3;
      const int high = b[i % 32] >> (i / 32) & 1;
      return half_at(b + 108) * (low4 + 16 * high2 - 32) * (low + 4 * high - 4);
    }
    case GgufType::q4_k:
    case GgufType::q5_k: {
      const int j = i / 32;
      const std::uint8_t* s = b + 4;
      const int scale = j < 4 ? s[j] % 64 : s[j + 4] % 16 + 16 * (s[j - 4] / 64);
      const int min = j < 4 ? s[j + 4] % 64 : s[j + 4] / 16 + 16 * (s[j] / 64);
      const bool five = type == GgufType::q5_k;
      const std::uint8_t packed = b[(five ? 48 : 16) + (j / 2) * 32 + i % 32];
      int q = j % 2 ? packed / 16 : packed % 16;
      if (five) q += 16 * (b[16 + i % 32] >> j & 1);
      return half_at(b) * scale * q - half_at(b + 2) * min;
    }
    case GgufType::q6_k: {
      const int n = i / 128, within = i % 128, l = within % 32, part = within / 32;
      const std::uint8_t low = b[n * 64 + (part % 2) * 32 + l];
      const int low4 = part < 2 ? low % 16 : low / 16;
      const int high2 = b[128 + n * 32 + l] >> (2 * part) & 3;
      const auto scale = static_cast<std::int8_t>(b[192 + n * 8 + part * 2 + l / 16]);
      return half_at(b + 208) * scale * (low4 + 16 * high2 - 32);
    }
    default:
      return std::nanf("");
  }
}

/// Random blocks whose float16 fields hold tame numbers.
Bytes random_blocks(const GgufTypeInfo& type, int blocks, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> scale(-0.02f, 0.02f);
  Bytes out(static_cast<std::size_t>(blocks * type.block_bytes));
  for (auto& byte : out) byte = static_cast<std::uint8_t>(random());
  for (int i = 0; i < blocks; ++i) {
    std::uint8_t* block = out.data() + i * type.block_bytes;
    switch (type.id) {
      case GgufType::q2_k:
        put_half(block + 80, scale(random));
        put_half(block + 82, scale(random));
        break;
      case GgufType::q3_k:
        put_half(block + 108, scale(random));
        break;
      case GgufType::q6_k:
        put_half(block + 208, scale(random));
        break;
      default:
        put_half(block, scale(random));
        if (type.id != GgufType::q8_0 && type.id != GgufType::q4_0 && type.id != GgufType::q5_0) {
          put_half(block + 2, scale(random));
        }
    }
  }
  return out;
}

struct Affine {
  std::vector<std::uint32_t> words;
  std::vector<std::uint16_t> scales, biases;
  bool good;

  /// Weight i = scale · code + bias, its code read bit by bit.
  float at(int i, int bits) const {
    unsigned code = 0;
    for (int b = 0; b < bits; ++b) {
      const int bit = i * bits + b;
      code |= (words[static_cast<std::size_t>(bit / 32)] >> (bit % 32) & 1u) << b;
    }
    const auto group = static_cast<std::size_t>(i / gguf_group);
    return half_to_float(scales[group]) * static_cast<float>(code) + half_to_float(biases[group]);
  }
};

Affine convert(const GgufTypeInfo& type, const Bytes& blocks) {
  const int count = static_cast<int>(blocks.size()) / type.block_bytes * type.block;
  Affine out{std::vector<std::uint32_t>(static_cast<std::size_t>(count * type.bits / 32)),
             std::vector<std::uint16_t>(static_cast<std::size_t>(count / gguf_group)),
             std::vector<std::uint16_t>(static_cast<std::size_t>(count / gguf_group)), false};
  out.good = affine_row(type.id, blocks.data(), count,
                        {out.words.data(), out.scales.data(), out.biases.data()});
  return out;
}

const GgufTypeInfo& type_of(GgufType type) {
  return *find_gguf_type(static_cast<std::uint32_t>(type));
}

class ExactBlocks : public ::testing::TestWithParam<GgufType> {};

TEST_P(ExactBlocks, keep_every_value) {
  const auto& type = type_of(GetParam());
  const Bytes blocks = random_blocks(type, 64, 7);
  const Affine affine = convert(type, blocks);
  ASSERT_TRUE(affine.good);
  for (int i = 0; i < 64 * type.block; ++i) {
    const float expected =
        weight(type.id, blocks.data() + i / type.block * type.block_bytes, i % type.block);
    // d · (q - 8) and d · q - 8d differ by a rounding; each is exact before it.
    ASSERT_FLOAT_EQ(affine.at(i, type.bits) + 1.0f, expected + 1.0f) << type.name << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(gguf, ExactBlocks,
                         ::testing::Values(GgufType::q8_0, GgufType::q4_0, GgufType::q4_1,
                                           GgufType::q5_0, GgufType::q5_1),
                         [](const auto& param) { return std::string(type_of(param.param).name); });

class KBlocks : public ::testing::TestWithParam<GgufType> {};

TEST_P(KBlocks, stay_within_a_small_part_of_a_groups_range) {
  const auto& type = type_of(GetParam());
  constexpr int count = 48;
  const Bytes blocks = random_blocks(type, count, 11);
  const Affine affine = convert(type, blocks);
  ASSERT_TRUE(affine.good);
  for (int g = 0; g < count * 256 / gguf_group; ++g) {
    std::array<float, gguf_group> expected;
    float low = 1e30f, high = -1e30f;
    for (int i = 0; i < gguf_group; ++i) {
      const int at = g * gguf_group + i;
      expected[static_cast<std::size_t>(i)] =
          weight(type.id, blocks.data() + at / 256 * type.block_bytes, at % 256);
      low = std::min(low, expected[static_cast<std::size_t>(i)]);
      high = std::max(high, expected[static_cast<std::size_t>(i)]);
    }
    const bool keeps_codes = type.id == GgufType::q4_k || type.id == GgufType::q5_k;
    const float steps = keeps_codes ? 1000.0f : static_cast<float>((1 << type.bits) - 1);
    // Half a step, and what float16 loses of scale and bias.
    const float bound =
        (high - low) / steps * 0.55f + std::max(std::abs(low), std::abs(high)) * 0x1p-10f;
    for (int i = 0; i < gguf_group; ++i) {
      ASSERT_NEAR(affine.at(g * gguf_group + i, type.bits), expected[static_cast<std::size_t>(i)],
                  bound)
          << type.name << " group " << g << " weight " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(gguf, KBlocks,
                         ::testing::Values(GgufType::q2_k, GgufType::q3_k, GgufType::q4_k,
                                           GgufType::q5_k, GgufType::q6_k),
                         [](const auto& param) { return std::string(type_of(param.param).name); });

TEST(gguf_blocks, k_types_decode_to_their_definition) {
  for (const GgufType id : {GgufType::q2_k, GgufType::q3_k, GgufType::q6_k}) {
    const auto& type = type_of(id);
    const Bytes blocks = random_blocks(type, 16, 13);
    std::vector<float> out(16 * 256);
    float_row(id, blocks.data(), std::ssize(out), out.data());
    for (int i = 0; i < 16 * 256; ++i) {
      ASSERT_FLOAT_EQ(out[static_cast<std::size_t>(i)] + 1.0f,
                      weight(id, blocks.data() + i / 256 * type.block_bytes, i % 256) + 1.0f)
          << type.name << " " << i;
    }
  }
}

TEST(gguf_blocks, mlx_dequantises_the_words_to_the_same_values) {
  namespace mx = mlx::core;
  for (const GgufType id : {GgufType::q8_0, GgufType::q4_1, GgufType::q5_0, GgufType::q4_k}) {
    const auto& type = type_of(id);
    const Bytes blocks = random_blocks(type, 8, 17);
    const Affine affine = convert(type, blocks);
    const int count = 8 * type.block;
    const auto halves = [&](const std::vector<std::uint16_t>& from) {
      std::vector<float> out;
      for (const auto half : from) out.push_back(half_to_float(half));
      return mx::array(out.data(), {1, count / gguf_group}, mx::float32);
    };
    auto x = mx::dequantize(mx::array(affine.words.data(), {1, count * type.bits / 32}, mx::uint32),
                            halves(affine.scales), halves(affine.biases), gguf_group, type.bits);
    x.eval();
    for (int i = 0; i < count; ++i) {
      ASSERT_FLOAT_EQ(x.data<float>()[i] + 1.0f, affine.at(i, type.bits) + 1.0f)
          << type.name << " " << i;
    }
  }
}

TEST(gguf_blocks, a_scale_that_is_no_number_is_reported) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const GgufType id : {GgufType::q8_0, GgufType::q4_0, GgufType::q5_1, GgufType::q4_k}) {
      Bytes blocks = random_blocks(type_of(id), 2, 19);
      put_half(blocks.data() + type_of(id).block_bytes, bad);
      blocks[static_cast<std::size_t>(type_of(id).block_bytes) + 4] |=
          1;  // Q4_K: a scale that is not 0
      EXPECT_FALSE(convert(type_of(id), blocks).good) << type_of(id).name;
    }
    Bytes blocks = random_blocks(type_of(GgufType::q6_k), 1, 23);
    put_half(blocks.data() + 208, bad);
    EXPECT_FALSE(convert(type_of(GgufType::q6_k), blocks).good);
  }
  Bytes wide = random_blocks(type_of(GgufType::q8_0), 1, 29);
  put_half(wide.data(), 600);  // 128 · 600 is beyond float16
  EXPECT_FALSE(convert(type_of(GgufType::q8_0), wide).good);
}

TEST(gguf_blocks, constant_and_zero_groups_are_kept) {
  Bytes blocks(static_cast<std::size_t>(type_of(GgufType::q6_k).block_bytes), 0);  // d = 0
  const Affine affine = convert(type_of(GgufType::q6_k), blocks);
  ASSERT_TRUE(affine.good);
  for (int i = 0; i < 256; ++i) ASSERT_EQ(affine.at(i, 8), 0.0f);
}

TEST(half, every_float16_survives_the_round_trip) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((half & 0x7c00u) == 0x7c00u && (half & 0x3ffu)) {
      EXPECT_TRUE(std::isnan(half_to_float(half)));
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(half_to_float(half)))));
    } else {
      ASSERT_EQ(float_to_half(half_to_float(half)), half) << bits;
    }
  }
}

TEST(half, rounding_agrees_with_mlx) {
  namespace mx = mlx::core;
  std::mt19937 random(31);
  for (int i = 0; i < 200'000; ++i) {
    // Exponents around float16's range.
    const std::uint32_t bits = (random() & 0x807fffffu) | (100 + random() % 45) << 23;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    const mx::float16_t half(value);
    const mx::bfloat16_t bfloat(value);
    std::uint16_t expected;
    std::memcpy(&expected, &half, 2);
    ASSERT_EQ(float_to_half(value), expected) << value;
    std::memcpy(&expected, &bfloat, 2);
    ASSERT_EQ(float_to_bfloat(value), expected) << value;
  }
}

}  // namespace
}  // namespace hearth::tensor
