// CUDA C of the kernels: what all of them share. No header of CUDA is included, so that the
// run-time compiler needs none.
#include "tensor/kernels/cuda/source.h"

namespace hearth::kernels::cuda {

const char* const source_common = R"cuda(
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
#define DEVICE static __device__ __forceinline__
#define MINUS_INFINITY (__int_as_float(0xff800000))

DEVICE u32 lane() { return threadIdx.x & 31; }

// {low half: a, high half: b}
DEVICE u32 to_bf16x2(float a, float b) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
DEVICE u32 to_f16x2(float a, float b) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
  return r;
}
DEVICE u16 to_f16(float x) {
  u16 r;
  x = fminf(fmaxf(x, -65504.0f), 65504.0f);
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
DEVICE float from_f16(u32 low) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"((u16)low));
  return r;
}
DEVICE float low_bf16(u32 x) { return __uint_as_float(x << 16); }
DEVICE float high_bf16(u32 x) { return __uint_as_float(x & 0xffff0000u); }
DEVICE u32 prmt(u32 a, u32 b, u32 select) { return __byte_perm(a, b, select); }
DEVICE float exp2_fast(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// c += a·b for a [16, 16] and b [16, 8]. Lane 4g + t holds of c rows g (c0, c1) and g + 8 (c2, c3),
// columns 2t and 2t + 1; of a, rows g (a0, a2) and g + 8 (a1, a3); of b, column g.
DEVICE void mma_bf16(float* c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
DEVICE void mma_f16(float* c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Activations as the products read them. Rows come in tiles of 8, inputs in tiles of 64 with two
// halves of 32; lane 4g + t holds of row g the inputs 8t .. 8t + 7 of a half, in the order
// 0 4 1 5 2 6 3 7. Beside them the sum over each half of what was rounded, [row tile][half][8].
struct Fragments {
  uint4* values;
  float* sums;
  int tiles;  // of inputs; 0: not wanted
};

// One row's eight numbers from input 8 * eighth on. All lanes of four neighbours call it together.
DEVICE void write_fragment(const Fragments& f, int row, int eighth, const float* x, bool inside) {
  uint4 v;
  v.x = to_bf16x2(x[0], x[4]);
  v.y = to_bf16x2(x[1], x[5]);
  v.z = to_bf16x2(x[2], x[6]);
  v.w = to_bf16x2(x[3], x[7]);
  float sum = ((low_bf16(v.x) + high_bf16(v.x)) + (low_bf16(v.y) + high_bf16(v.y))) +
              ((low_bf16(v.z) + high_bf16(v.z)) + (low_bf16(v.w) + high_bf16(v.w)));
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  if (!inside) return;
  const int half = eighth >> 2, t = eighth & 3, g = row & 7;
  const size_t at = (size_t)(row >> 3) * (2 * f.tiles) + half;
  f.values[at * 32 + g * 4 + t] = v;
  if (t == 0) f.sums[at * 8 + g] = sum;
}

DEVICE void load8(const float* from, float* x) {
  const float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
  x[0] = a.x; x[1] = a.y; x[2] = a.z; x[3] = a.w;
  x[4] = b.x; x[5] = b.y; x[6] = b.z; x[7] = b.w;
}
DEVICE void store8(float* to, const float* x) {
  ((float4*)to)[0] = make_float4(x[0], x[1], x[2], x[3]);
  ((float4*)to)[1] = make_float4(x[4], x[5], x[6], x[7]);
}
)cuda";

}  // namespace hearth::kernels::cuda
