// Repacks MLX's affine layout, row after row of one bit stream each, into blocks of 16 outputs.
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "tensor/kernels/packed.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

/// Bits that hold a value once packed: 3 bits take 4; 5 and 6 take 8.
int stored_bits(int bits) { return bits <= 2 ? 2 : bits <= 4 ? 4 : 8; }

FloatKind kind_of(mx::Dtype dtype) {
  if (dtype == mx::float16) return FloatKind::f16;
  if (dtype == mx::bfloat16) return FloatKind::bf16;
  return FloatKind::f32;
}

/// Value `k` of a row's bit stream.
std::uint32_t value_at(const std::uint32_t* row, std::size_t k, int bits) {
  const std::size_t bit = k * bits;
  std::uint64_t two = row[bit / 32];
  if (bit % 32 + bits > 32) two |= static_cast<std::uint64_t>(row[bit / 32 + 1]) << 32;
  return static_cast<std::uint32_t>(two >> (bit % 32)) & ((1u << bits) - 1);
}

/// 32 bits of values of `stored` bits each, from value `k` on.
std::uint32_t word_at(const std::uint32_t* row, std::size_t k, int bits, int stored) {
  if (bits == stored) return row[k * bits / 32];
  std::uint32_t word = 0;
  for (int i = 0; i < 32 / stored; ++i) word |= value_at(row, k + i, bits) << (i * stored);
  return word;
}

/// The even values of a word, side by side in the low half.
std::uint32_t even_values(std::uint32_t word, int stored) {
  if (stored == 2) {
    word &= 0x33333333u;
    word = (word | word >> 2) & 0x0f0f0f0fu;
  }
  if (stored <= 4) {
    word &= 0x0f0f0f0fu;
    word = (word | word >> 4) & 0x00ff00ffu;
  }
  word &= 0x00ff00ffu;
  return (word | word >> 8) & 0xffffu;
}

std::uint32_t even_low_odd_high(std::uint32_t word, int stored) {
  return even_values(word, stored) | even_values(word >> stored, stored) << 16;
}

std::uint32_t packed_value(std::uint32_t lane, int k, int stored) {
  const int shift = (k % 2) * 16 + (k / 2) * stored;
  return lane >> shift & ((1u << stored) - 1);
}

struct Source {
  const std::uint32_t* words;
  std::size_t words_per_row;
  int bits;
  const std::byte *scales, *biases;
};

void pack_block(const Source& source, const AffineView& view, std::size_t block, std::byte* to) {
  const std::size_t size = size_of(view.scale_kind);
  const int per_word = 32 / view.bits;
  for (int g = 0; g < view.groups; ++g, to += view.record_bytes()) {
    std::byte* scales = to + view.value_bytes();
    for (int lane = 0; lane < block_lanes; ++lane) {
      const std::size_t n = block * block_lanes + lane;
      if (n >= static_cast<std::size_t>(view.outputs)) break;
      const std::uint32_t* row = source.words + n * source.words_per_row;
      for (int i = 0; i < view.group / per_word; ++i) {
        const std::size_t k = static_cast<std::size_t>(g) * view.group + i * per_word;
        const auto word = even_low_odd_high(word_at(row, k, source.bits, view.bits), view.bits);
        std::memcpy(to + (static_cast<std::size_t>(i) * block_lanes + lane) * 4, &word, 4);
      }
      const std::size_t at = (n * view.groups + g) * size;
      std::memcpy(scales + lane * size, source.scales + at, size);
      std::memcpy(scales + (block_lanes + lane) * size, source.biases + at, size);
    }
  }
}

void check(const Array& weight, const Array& scales, const Array& biases, int group, int bits) {
  const bool matrix = weight.ndim() == 2 && weight.dtype() == mx::uint32 && bits > 0;
  const int n = matrix ? weight.shape(0) : 0;
  const int k = matrix ? static_cast<int>(weight.shape(1) * std::int64_t{32} / bits) : 0;
  if (!PackedLinear::takes_affine(n, k, group, bits)) {
    throw std::invalid_argument(
        fmt::format("packed linear: [{}, {}] with {} bits in groups of {} is not a shape it takes",
                    n, k, bits, group));
  }
  const mx::Shape expected{n, k / group};
  if (scales.shape() != expected || biases.shape() != expected) {
    throw std::invalid_argument(fmt::format(
        "packed linear: scales have {} numbers and biases {}, expected [{}, {}] of each",
        scales.size(), biases.size(), n, k / group));
  }
}

}  // namespace

PackedAffine::PackedAffine(const Array& weight, const Array& scales, const Array& biases,
                           int group_size, int bits, const std::optional<Array>& bias)
    : Packed(bias) {
  check(weight, scales, biases, group_size, bits);
  const auto kind = scales.dtype() == biases.dtype() ? kind_of(scales.dtype()) : FloatKind::f32;
  const auto stored = [&](const Array& x) {
    return settled(kind == FloatKind::f32 ? mx::astype(x, mx::float32) : x);
  };
  const Array words = settled(weight), s = stored(scales), b = stored(biases);
  view_ = {.data = nullptr,
           .outputs = weight.shape(0),
           .inputs = static_cast<int>(weight.shape(1) * std::int64_t{32} / bits),
           .group = group_size,
           .groups = scales.shape(1),
           .bits = stored_bits(bits),
           .scale_kind = kind};
  const std::size_t blocks = blocks_of(view_.outputs);
  data_ = aligned_bytes(blocks * view_.block_bytes());
  view_.data = reinterpret_cast<const std::uint8_t*>(data_.get());
  const Source source{.words = words.data<std::uint32_t>(),
                      .words_per_row = static_cast<std::size_t>(weight.shape(1)),
                      .bits = bits,
                      .scales = s.data<std::byte>(),
                      .biases = b.data<std::byte>()};
  for_each_task(blocks, true, [&](std::size_t block) {
    pack_block(source, view_, block, data_.get() + block * view_.block_bytes());
  });
}

void PackedAffine::multiply(std::size_t first_block, std::size_t blocks, const Activations& x,
                            std::size_t first_row, std::size_t rows, float* y) const {
  for (std::size_t b = 0; b < blocks; ++b) {
    affine_block(view_, first_block + b, *x.rounded, first_row, rows, y + b * rows * block_lanes);
  }
}

void PackedAffine::row(int output, float* out) const {
  const std::size_t size = size_of(view_.scale_kind);
  const int lane = output % block_lanes;
  const int per_word = 32 / view_.bits;
  const std::byte* record = data_.get() + output / block_lanes * view_.block_bytes();
  for (int g = 0; g < view_.groups; ++g, record += view_.record_bytes()) {
    const std::byte* stored = record + view_.value_bytes();
    const float scale = stored_float(view_.scale_kind, stored + lane * size);
    const float bias = stored_float(view_.scale_kind, stored + (block_lanes + lane) * size);
    for (int i = 0; i < view_.group / per_word; ++i) {
      std::uint32_t word;
      std::memcpy(&word, record + (static_cast<std::size_t>(i) * block_lanes + lane) * 4, 4);
      for (int k = 0; k < per_word; ++k) {
        *out++ = scale * static_cast<float>(packed_value(word, k, view_.bits)) + bias;
      }
    }
  }
}

}  // namespace hearth::kernels
