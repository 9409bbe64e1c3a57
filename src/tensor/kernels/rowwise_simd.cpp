#include "tensor/kernels/rowwise_simd.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/rowwise_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tensor/kernels/floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::kernels {
namespace HWY_NAMESPACE {

/// The first `count` numbers of a vector, zeros behind them.
HWY_INLINE VF load_some(F32 d, const float* p, int count) {
  float lanes[f32_lanes] = {};
  for (int i = 0; i < count; ++i) lanes[i] = p[i];
  return hn::LoadU(d, lanes);
}

HWY_INLINE void store_some(F32 d, VF v, float* p, int count) {
  float lanes[f32_lanes];
  hn::StoreU(v, d, lanes);
  for (int i = 0; i < count; ++i) p[i] = lanes[i];
}

/// out[i] = f(a[i], b[i])
template <class F>
HWY_INLINE void map2(const float* a, const float* b, int count, float* out, const F& f) {
  const F32 d;
  int i = 0;
  for (; i + f32_lanes <= count; i += f32_lanes) {
    hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  if (i == count) return;
  store_some(d, f(load_some(d, a + i, count - i), load_some(d, b + i, count - i)), out + i,
             count - i);
}

/// Sum of squares in four interleaved sums, added in a fixed order.
HWY_INLINE float sum_of_squares(const float* x, int count) {
  const F32 d;
  VF sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int i = 0;
  for (; i + 4 * f32_lanes <= count; i += 4 * f32_lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const VF v = hn::LoadU(d, x + i + j * f32_lanes);
      sums[j] = hn::MulAdd(v, v, sums[j]);
    }
  }
  for (; i + f32_lanes <= count; i += f32_lanes) {
    const VF v = hn::LoadU(d, x + i);
    sums[0] = hn::MulAdd(v, v, sums[0]);
  }
  if (i < count) {
    const VF v = load_some(d, x + i, count - i);
    sums[1] = hn::MulAdd(v, v, sums[1]);
  }
  const VF all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(d, all));
}

void RmsNormRow(const float* x, const float* weight, float eps, int count, float* out) {
  const F32 d;
  const float mean = sum_of_squares(x, count) / static_cast<float>(count);
  const VF inverse = hn::Set(d, 1.0f / std::sqrt(mean + eps));
  if (weight == nullptr) {
    map2(x, x, count, out, [&](VF v, VF) HWY_ATTR { return hn::Mul(v, inverse); });
  } else {
    map2(x, weight, count, out,
         [&](VF v, VF w) HWY_ATTR { return hn::Mul(hn::Mul(v, inverse), w); });
  }
}

void AddRow(const float* x, const float* y, int count, float* out) {
  map2(x, y, count, out, [](VF a, VF b) HWY_ATTR { return hn::Add(a, b); });
}

void SiluGateRow(const float* gate, const float* up, int count, float* out) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f);
  map2(gate, up, count, out, [&](VF g, VF u) HWY_ATTR {
    return hn::Mul(hn::Div(g, hn::Add(one, exp(d, hn::Neg(g)))), u);
  });
}

void GeluGateRow(const float* gate, const float* up, int count, float* out) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f);
  // 0.5 g (1 + tanh t) = g / (1 + e^(-2t)), t = √(2/π) (g + 0.044715 g³)
  const VF linear = hn::Set(d, -2.0f * 0.7978845608f);
  const VF cubic = hn::Set(d, -2.0f * 0.7978845608f * 0.044715f);
  map2(gate, up, count, out, [&](VF g, VF u) HWY_ATTR {
    const VF slope = hn::MulAdd(hn::Mul(g, g), cubic, linear);
    return hn::Mul(hn::Div(g, hn::Add(one, exp(d, hn::Mul(g, slope)))), u);
  });
}

HWY_INLINE VF within_f16(F32 d, VF x) {
  const VF most = hn::Set(d, 65504.0f);
  const VF bounded = hn::Min(hn::Max(x, hn::Neg(most)), most);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Inf(d)), bounded, x);
}

void ToF16(const float* x, int count, std::uint16_t* out) {
  const F32 d;
  const hn::Rebind<hwy::float16_t, F32> d16;
  auto* to = reinterpret_cast<hwy::float16_t*>(out);
  int i = 0;
  for (; i + f32_lanes <= count; i += f32_lanes) {
    hn::StoreU(hn::DemoteTo(d16, within_f16(d, hn::LoadU(d, x + i))), d16, to + i);
  }
  if (i == count) return;
  hwy::float16_t lanes[f32_lanes];
  hn::StoreU(hn::DemoteTo(d16, within_f16(d, load_some(d, x + i, count - i))), d16, lanes);
  for (int j = 0; i + j < count; ++j) to[i + j] = lanes[j];
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::kernels {

HWY_EXPORT(RmsNormRow);
HWY_EXPORT(AddRow);
HWY_EXPORT(SiluGateRow);
HWY_EXPORT(GeluGateRow);
HWY_EXPORT(ToF16);

void rms_norm_row(const float* x, const float* weight, float eps, int count, float* out) {
  HWY_DYNAMIC_DISPATCH(RmsNormRow)(x, weight, eps, count, out);
}
void add_row(const float* x, const float* y, int count, float* out) {
  HWY_DYNAMIC_DISPATCH(AddRow)(x, y, count, out);
}
void silu_gate_row(const float* gate, const float* up, int count, float* out) {
  HWY_DYNAMIC_DISPATCH(SiluGateRow)(gate, up, count, out);
}
void gelu_gate_row(const float* gate, const float* up, int count, float* out) {
  HWY_DYNAMIC_DISPATCH(GeluGateRow)(gate, up, count, out);
}
void to_f16(const float* x, int count, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(ToF16)(x, count, out);
}

}  // namespace hearth::kernels
#endif  // HWY_ONCE
