// Loads of stored floats and the one exponential of every kernel, per instruction set.
// No include guard in the usual sense: Highway includes this once per target.
#if defined(HEARTH_KERNELS_FLOATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_KERNELS_FLOATS_INL_H_
#undef HEARTH_KERNELS_FLOATS_INL_H_
#else
#define HEARTH_KERNELS_FLOATS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "tensor/kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using VF = hn::Vec<F32>;
inline constexpr int f32_lanes = HWY_MAX_BYTES / 4;
inline constexpr int block_vectors = block_lanes / f32_lanes;  // vectors in a block of outputs
static_assert(block_vectors * f32_lanes == block_lanes);

/// Stored floats: load_floats(d, p, i) reads a vector from element i on; any alignment.
struct StoredF32 {
  using Type = float;
  static HWY_INLINE VF load(F32 d, const Type* p) { return hn::LoadU(d, p); }
};
struct StoredF16 {
  using Type = std::uint16_t;
  static HWY_INLINE VF load(F32 d, const Type* p) {
    const hn::Rebind<hwy::float16_t, F32> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
  }
};
struct StoredBf16 {
  using Type = std::uint16_t;
  static HWY_INLINE VF load(F32 d, const Type* p) {
    const hn::Rebind<std::uint16_t, F32> d16;
    const hn::RebindToUnsigned<F32> d32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, p))));
  }
};

/// The vector of stored floats that begins at element i.
HWY_INLINE VF load_stored(F32 d, FloatKind kind, const void* p, std::size_t i) {
  if (kind == FloatKind::f16) return StoredF16::load(d, static_cast<const std::uint16_t*>(p) + i);
  if (kind == FloatKind::bf16) return StoredBf16::load(d, static_cast<const std::uint16_t*>(p) + i);
  return StoredF32::load(d, static_cast<const float*>(p) + i);
}

/// e^x to 2 ulp; 0 below -87.3, inf above 88.7, NaN for NaN.
HWY_INLINE VF exp(F32 d, VF x) {
  const hn::RebindToSigned<F32> di;
  const VF low = hn::Set(d, -87.3365448f);
  const VF high = hn::Set(d, 88.7228394f);
  const VF bounded = hn::Min(hn::Max(x, low), high);
  // x = n ln 2 + r, |r| <= ln 2 / 2; ln 2 in two parts. At n = 128 the scale is split in two.
  const VF n = hn::Round(hn::Mul(bounded, hn::Set(d, 1.44269504089f)));
  VF r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), bounded);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // Cephes expf: e^r = 1 + r + r² p(r)
  VF p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(p, hn::Mul(r, r), r);
  p = hn::Add(p, hn::Set(d, 1.0f));
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const VF s1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF s2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  VF y = hn::Mul(hn::Mul(p, s1), s2);
  y = hn::IfThenElse(hn::Lt(x, low), hn::Zero(d), y);
  y = hn::IfThenElse(hn::Gt(x, high), hn::Inf(d), y);
  return hn::IfThenElse(hn::Eq(x, x), y, x);
}

/// The same exponential of one number.
HWY_INLINE float exp_of(float x) {
  const F32 d;
  return hn::GetLane(exp(d, hn::Set(d, x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEARTH_KERNELS_FLOATS_INL_H_
