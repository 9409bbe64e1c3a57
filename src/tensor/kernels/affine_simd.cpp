#include "tensor/kernels/affine_simd.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/affine_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tensor/kernels/floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::kernels {
namespace HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;
using I16 = hn::Repartition<std::int16_t, F32>;
using U16 = hn::RebindToUnsigned<I16>;
using VI32 = hn::Vec<I32>;
using VI16 = hn::Vec<I16>;
constexpr int words = 2 * f32_lanes;  // 16-bit words in a vector
constexpr int max_rows = 4;           // rows multiplied together
constexpr int unpacked_inputs = 256;  // inputs unpacked at a time, a multiple of every group
constexpr int block_words = 2 * block_lanes;  // 16-bit words of a block in one pair of inputs

/// Sums of products for R rows and one block of outputs.
template <int R>
struct Sums {
  VI32 a[R][block_vectors], b[R][block_vectors];

  HWY_INLINE Sums() {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < block_vectors; ++j) a[r][j] = b[r][j] = hn::Zero(I32());
    }
  }

  /// Adds the products of a pair of inputs: `w` holds the block's weights, x the pair of each row.
  HWY_INLINE void add(const VI16* HWY_RESTRICT w, const std::int16_t* const* HWY_RESTRICT x,
                      std::size_t k) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      std::int32_t pair;
      __builtin_memcpy(&pair, x[r] + k, sizeof pair);
      VI16 xs = hn::BitCast(I16(), hn::Set(I32(), pair));
#pragma GCC unroll 4
      for (int j = 0; j < block_vectors; ++j) {
        a[r][j] = hn::ReorderWidenMulAccumulate(I32(), w[j], xs, a[r][j], b[r][j]);
      }
    }
  }

  /// Adds the group's share to y: (sum · scale + bias · sum of x).
  HWY_INLINE void finish(const AffineView& weights, const std::uint8_t* record,
                         const QuantizedRows& x, std::size_t first_row, std::size_t group,
                         float* HWY_RESTRICT y) const {
    const F32 d;
    const void* stored = record + weights.value_bytes();
#pragma GCC unroll 4
    for (int j = 0; j < block_vectors; ++j) {
      const VF scale = load_stored(d, weights.scale_kind, stored, j * f32_lanes);
      const VF bias = load_stored(d, weights.scale_kind, stored, block_lanes + j * f32_lanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const std::size_t at = (first_row + r) * x.groups + group;
        const VF sum = hn::ConvertTo(d, hn::RearrangeToOddPlusEven(a[r][j], b[r][j]));
        float* out = y + r * block_lanes + j * f32_lanes;
        const VF with_scale =
            hn::MulAdd(sum, hn::Mul(scale, hn::Set(d, x.scales[at])), hn::LoadU(d, out));
        hn::StoreU(hn::MulAdd(bias, hn::Set(d, x.sums[at]), with_scale), d, out);
      }
    }
  }
};

/// Calls use(values of a pair of inputs as 16-bit words, index of the pair) for a group's values.
template <int Bits, class Use>
HWY_INLINE void unpack_group(const std::uint8_t* HWY_RESTRICT record, int group, const Use& use) {
  constexpr int pairs = 16 / Bits;  // pairs of inputs in 32 bits
  const U16 d;
  const auto mask = hn::Set(d, static_cast<std::uint16_t>((1 << Bits) - 1));
  const auto* HWY_RESTRICT packed = reinterpret_cast<const std::uint16_t*>(record);
  for (int k = 0; k < group; k += 2 * pairs, packed += block_words) {
    hn::Vec<U16> bits[block_vectors];
#pragma GCC unroll 4
    for (int j = 0; j < block_vectors; ++j) bits[j] = hn::Load(d, packed + j * words);
#pragma GCC unroll 8
    for (int p = 0; p < pairs; ++p) {
      VI16 values[block_vectors];
#pragma GCC unroll 4
      for (int j = 0; j < block_vectors; ++j) {
        values[j] = hn::BitCast(I16(), p + 1 < pairs ? hn::And(bits[j], mask) : bits[j]);
        bits[j] = hn::ShiftRight<Bits>(bits[j]);
      }
      use(values, k / 2 + p);
    }
  }
}

template <int R>
HWY_INLINE void row_pointers(const QuantizedRows& x, std::size_t first_row, std::size_t k,
                             const std::int16_t** rows) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) rows[r] = x.values + (first_row + r) * x.inputs + k;
}

/// One row: its values are unpacked in registers, in unrolled steps.
template <int Bits>
HWY_INLINE void multiply_packed(const std::uint8_t* record, int group, const std::int16_t** rows,
                                Sums<1>& sums) {
  unpack_group<Bits>(record, group, [&](const VI16* values, int pair) HWY_ATTR {
    sums.add(values, rows, 2 * pair);
  });
}

/// Some rows: a loop that is not unrolled, for g++ would unpack everything first and spill it.
template <int Bits, int R>
HWY_INLINE void multiply_packed(const std::uint8_t* record, int group, const std::int16_t** rows,
                                Sums<R>& sums) {
  constexpr int pairs = 16 / Bits;
  const U16 d;
  const auto mask = hn::Set(d, static_cast<std::uint16_t>((1 << Bits) - 1));
  const auto* HWY_RESTRICT packed = reinterpret_cast<const std::uint16_t*>(record);
  for (int k = 0; k < group; k += 2 * pairs, packed += block_words) {
    hn::Vec<U16> bits[block_vectors];
#pragma GCC unroll 4
    for (int j = 0; j < block_vectors; ++j) bits[j] = hn::Load(d, packed + j * words);
#pragma GCC unroll 1
    for (int p = 0; p < pairs; ++p) {
      VI16 values[block_vectors];
#pragma GCC unroll 4
      for (int j = 0; j < block_vectors; ++j) {
        values[j] = hn::BitCast(I16(), hn::And(bits[j], mask));
        bits[j] = hn::ShiftRight<Bits>(bits[j]);
      }
      sums.add(values, rows, k + 2 * p);
    }
  }
}

/// A few rows: the values are unpacked for each set of rows anew.
template <int Bits, int R>
HWY_NOINLINE void few_rows(AffineView weights, const std::uint8_t* record, QuantizedRows x,
                           std::size_t first_row, float* y) {
  const std::int16_t* rows[R];
  for (int g = 0; g < weights.groups; ++g, record += weights.record_bytes()) {
    row_pointers<R>(x, first_row, static_cast<std::size_t>(g) * weights.group, rows);
    Sums<R> sums;
    multiply_packed<Bits>(record, weights.group, rows, sums);
    sums.finish(weights, record, x, first_row, g, y);
  }
}

/// Unpacks a group's values to [pair of inputs][16 outputs][2].
template <int Bits>
HWY_INLINE void store_group(const std::uint8_t* record, int group, std::int16_t* HWY_RESTRICT to) {
  unpack_group<Bits>(record, group, [&](const VI16* values, int pair) HWY_ATTR {
#pragma GCC unroll 4
    for (int j = 0; j < block_vectors; ++j) {
      hn::Store(values[j], I16(), to + pair * block_words + j * words);
    }
  });
}

/// R rows times the unpacked values of some groups. The views come by value: they stay in
/// registers.
template <int R>
HWY_NOINLINE void unpacked_rows(AffineView weights, const std::uint8_t* record,
                                const std::int16_t* HWY_RESTRICT values, QuantizedRows x,
                                std::size_t first_row, std::size_t first_group, int groups,
                                float* y) {
  const std::int16_t* rows[R];
  for (int g = 0; g < groups; ++g, record += weights.record_bytes()) {
    row_pointers<R>(x, first_row, (first_group + g) * weights.group, rows);
    Sums<R> sums;
    // Unrolled, or g++ would copy every sum from register to register in each step.
#pragma GCC unroll 4
    for (int k = 0; k < weights.group; k += 2, values += block_words) {
      VI16 w[block_vectors];
#pragma GCC unroll 4
      for (int j = 0; j < block_vectors; ++j) w[j] = hn::Load(I16(), values + j * words);
      sums.add(w, rows, k);
    }
    sums.finish(weights, record, x, first_row, first_group + g, y);
  }
}

template <int Bits>
void many_rows(const AffineView& weights, const std::uint8_t* record, const QuantizedRows& x,
               std::size_t first_row, std::size_t rows, float* y) {
  alignas(64) std::int16_t values[unpacked_inputs * block_lanes];
  const int at_once = unpacked_inputs / weights.group;
  for (int g = 0; g < weights.groups; g += at_once) {
    const int groups = std::min(at_once, weights.groups - g);
    for (int i = 0; i < groups; ++i) {
      store_group<Bits>(record + i * weights.record_bytes(), weights.group,
                        values + i * weights.group * block_lanes);
    }
    for (std::size_t r = 0; r < rows; r += max_rows) {
      const auto run = [&](auto kernel) {
        kernel(weights, record, values, x, first_row + r, g, groups, y + r * block_lanes);
      };
      switch (std::min<std::size_t>(rows - r, max_rows)) {
        case 1:
          run(unpacked_rows<1>);
          break;
        case 2:
          run(unpacked_rows<2>);
          break;
        case 3:
          run(unpacked_rows<3>);
          break;
        default:
          run(unpacked_rows<4>);
      }
    }
    record += groups * weights.record_bytes();
  }
}

template <int Bits>
void block_of(const AffineView& weights, const std::uint8_t* record, const QuantizedRows& x,
              std::size_t first_row, std::size_t rows, float* y) {
  switch (rows) {
    case 1:
      return few_rows<Bits, 1>(weights, record, x, first_row, y);
    case 2:
      return few_rows<Bits, 2>(weights, record, x, first_row, y);
    case 3:
      return few_rows<Bits, 3>(weights, record, x, first_row, y);
    case 4:
      // Four at once would spill: the block is in L1 for the second pass.
      few_rows<Bits, 3>(weights, record, x, first_row, y);
      return few_rows<Bits, 1>(weights, record, x, first_row + 3, y + 3 * block_lanes);
    default:
      return many_rows<Bits>(weights, record, x, first_row, rows, y);
  }
}

void AffineBlock(const AffineView& weights, std::size_t block, const QuantizedRows& x,
                 std::size_t first_row, std::size_t rows, float* y) {
  const std::uint8_t* record = weights.data + block * weights.block_bytes();
  std::fill_n(y, rows * block_lanes, 0.0f);
  switch (weights.bits) {
    case 2:
      return block_of<2>(weights, record, x, first_row, rows, y);
    case 4:
      return block_of<4>(weights, record, x, first_row, rows, y);
    default:
      return block_of<8>(weights, record, x, first_row, rows, y);
  }
}

/// The greatest magnitude, as bits: exact in any order, and Inf and NaN come out on top.
HWY_INLINE std::uint32_t greatest_bits(const float* HWY_RESTRICT x, int count) {
  const hn::RebindToUnsigned<F32> du;
  auto most = hn::Zero(du);
  const auto magnitude = hn::Set(du, 0x7fffffffu);
  for (int k = 0; k < count; k += f32_lanes) {
    most = hn::Max(most, hn::And(hn::BitCast(du, hn::LoadU(F32(), x + k)), magnitude));
  }
  return hn::GetLane(hn::MaxOfLanes(du, most));
}

void QuantizeRow(const float* HWY_RESTRICT x, const QuantizedRows& out, std::size_t row) {
  constexpr float steps = 32767.0f;
  constexpr float least = 1e-30f;  // smaller groups are zero: 1 / scale would overflow
  const F32 d;
  const I32 di;
  const hn::Rebind<std::int16_t, F32> d16;
  for (int g = 0; g < out.groups; ++g) {
    const float* from = x + static_cast<std::size_t>(g) * out.group;
    std::int16_t* to = out.values + row * out.inputs + static_cast<std::size_t>(g) * out.group;
    const std::uint32_t bits = greatest_bits(from, out.group);
    float most;
    __builtin_memcpy(&most, &bits, sizeof most);
    const bool finite = bits < 0x7f800000u;
    const VF inverse = hn::Set(d, finite && most > least ? steps / most : 0.0f);
    auto sum = hn::Zero(di);
    for (int k = 0; k < out.group; k += f32_lanes) {
      const auto rounded = hn::NearestInt(hn::Mul(hn::LoadU(d, from + k), inverse));
      hn::StoreU(hn::DemoteTo(d16, rounded), d16, to + k);
      sum = hn::Add(sum, rounded);
    }
    const float scale =
        !finite ? std::numeric_limits<float>::quiet_NaN() : (most > least ? most / steps : 0.0f);
    const std::size_t at = row * out.groups + g;
    out.scales[at] = scale;
    out.sums[at] = scale * static_cast<float>(hn::GetLane(hn::SumOfLanes(di, sum)));
  }
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace hearth::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::kernels {

HWY_EXPORT(AffineBlock);
HWY_EXPORT(QuantizeRow);
HWY_EXPORT(TargetName);

void affine_block(const AffineView& weights, std::size_t block, const QuantizedRows& x,
                  std::size_t first_row, std::size_t rows, float* y) {
  HWY_DYNAMIC_DISPATCH(AffineBlock)(weights, block, x, first_row, rows, y);
}

void quantize_row(const float* x, const QuantizedRows& out, std::size_t row) {
  HWY_DYNAMIC_DISPATCH(QuantizeRow)(x, out, row);
}

const char* simd_target_name() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace hearth::kernels
#endif  // HWY_ONCE
