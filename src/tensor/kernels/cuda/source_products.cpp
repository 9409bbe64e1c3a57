// CUDA C of the products. One order of sums for any number of rows: inputs are cut into 8 segments
// of whole tiles of 64; within a segment each group's exact integers meet the activations on the
// tensor cores, and its sum joins the segment's as scale · sum + bias · (sum of the activations);
// segments are added in order. `few` gives each segment to a warp, `many` walks through them.
#include "tensor/kernels/cuda/source.h"

namespace hearth::kernels::cuda {

const char* const source_products = R"cuda(
struct Layer {
  const uint4* weights;
  const uint2* scales;  // [tile of 16][group][8] of {row g, row g + 8}, each {scale, bias}
  const float* bias;    // [outputs] or null
  int first_tile;       // among all layers' tiles of 16 outputs
  int outputs;
  int first_column;
};
struct ProductArgs {
  Layer layers[4];
  const uint4* x;
  const float* sums;
  const float* residual;  // [rows, columns], added; or null
  float* out;
  int layer_count, tiles, k_tiles, rows, columns, groups, group_shift, f16_scales;
};

template <int BITS> struct Words { static constexpr int count = BITS == 4 ? 1 : BITS == 8 ? 2 : 4; };

// Nibbles i and i + 4 as exact bfloat16 numbers.
DEVICE u32 nibbles(u32 w, int i) {
  u32 v, r;
  asm("lop3.b32 %0, %1, 0x000f000f, 0x43004300, 0xea;" : "=r"(v) : "r"(w >> (4 * i)));
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(0x3f803f80u), "r"(0xc300c300u));
  return r;
}
// Bytes i of both words, alike.
DEVICE u32 byte_pair(u32 a, u32 b, int i) {
  const float x = __uint_as_float(prmt(a, 0x4b000000u, 0x7440 | i)) - 8388608.0f;
  const float y = __uint_as_float(prmt(b, 0x4b000000u, 0x7440 | i)) - 8388608.0f;
  return prmt(__float_as_uint(x), __float_as_uint(y), 0x7632);
}

// The four 16x16 pieces of a tile of 16 outputs and 64 inputs.
template <int BITS> DEVICE void unpack(const uint4* w, u32 (*a)[4]) {
  if constexpr (BITS == 4) {
    const u32 top[2] = {w[0].x, w[0].y}, bottom[2] = {w[0].z, w[0].w};
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      a[m][0] = nibbles(top[m / 2], 2 * (m % 2));
      a[m][1] = nibbles(bottom[m / 2], 2 * (m % 2));
      a[m][2] = nibbles(top[m / 2], 2 * (m % 2) + 1);
      a[m][3] = nibbles(bottom[m / 2], 2 * (m % 2) + 1);
    }
  } else if constexpr (BITS == 8) {
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const uint4 v = w[m / 2];
      a[m][0] = byte_pair(v.x, v.y, 2 * (m % 2));
      a[m][1] = byte_pair(v.z, v.w, 2 * (m % 2));
      a[m][2] = byte_pair(v.x, v.y, 2 * (m % 2) + 1);
      a[m][3] = byte_pair(v.z, v.w, 2 * (m % 2) + 1);
    }
  } else {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const uint4 top = w[2 * j], bottom = w[2 * j + 1];
      a[2 * j][0] = top.x; a[2 * j][1] = bottom.x; a[2 * j][2] = top.y; a[2 * j][3] = bottom.y;
      a[2 * j + 1][0] = top.z; a[2 * j + 1][1] = bottom.z;
      a[2 * j + 1][2] = top.w; a[2 * j + 1][3] = bottom.w;
    }
  }
}

DEVICE float4 scale_of(uint2 v, int f16) {  // {scale, bias} of row g, then of row g + 8
  if (f16) return make_float4(from_f16(v.x), from_f16(v.x >> 16), from_f16(v.y), from_f16(v.y >> 16));
  return make_float4(low_bf16(v.x), high_bf16(v.x), low_bf16(v.y), high_bf16(v.y));
}

DEVICE void fold(float* sum, const float* q, float4 s, float x0, float x1) {
  sum[0] = fmaf(s.y, x0, fmaf(s.x, q[0], sum[0]));
  sum[1] = fmaf(s.y, x1, fmaf(s.x, q[1], sum[1]));
  sum[2] = fmaf(s.w, x0, fmaf(s.z, q[2], sum[2]));
  sum[3] = fmaf(s.w, x1, fmaf(s.z, q[3], sum[3]));
}

// Eight rows of x: both halves of an input tile, and this lane's columns' sums over each.
template <int BITS> struct Rows {
  uint4 b[2];
  float2 sums[2];
  // From shared memory: row tiles' values, and behind those of all the sums.
  __device__ __forceinline__ void load(const u8* values, const u8* sums_of_all, int n) {
    b[0] = ((const uint4*)values)[n * 64 + lane()];
    b[1] = ((const uint4*)values)[n * 64 + 32 + lane()];
    if constexpr (BITS != 16) {
      const float* from = (const float*)sums_of_all + n * 16 + 2 * (lane() & 3);
      sums[0] = *(const float2*)from;
      sums[1] = *(const float2*)(from + 8);
    }
  }
};

DEVICE void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)),
               "l"(from)
               : "memory");
}
DEVICE void end_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

// sum[m * stride + n] += (tile m of weights) · (rows n). Each pair's operations are in one order, but
// the pairs take turns: the tensor cores' results take long to come.
template <int BITS, bool G32, int MT, int NT>
DEVICE void products(float (*sum)[4], u32 (*w)[4][4], float4 (*s)[2], const Rows<BITS>* x, int stride = NT) {
  float q[MT][NT][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int n = 0; n < NT; ++n) {
      const uint4 half = x[n].b[i / 2];
      const u32 b0 = i & 1 ? half.z : half.x, b1 = i & 1 ? half.w : half.y;
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        float* to = BITS == 16 ? sum[m * stride + n] : q[m][n];
        mma_bf16(to, w[m][i][0], w[m][i][1], w[m][i][2], w[m][i][3], b0, b1);
        if constexpr (G32 && BITS != 16) {
          if (i == 1) {
            fold(sum[m * stride + n], q[m][n], s[m][0], x[n].sums[0].x, x[n].sums[0].y);
            q[m][n][0] = q[m][n][1] = q[m][n][2] = q[m][n][3] = 0;
          }
        }
      }
    }
  }
  if constexpr (BITS == 16) return;
#pragma unroll
  for (int n = 0; n < NT; ++n) {
    const float2 first = x[n].sums[0], second = x[n].sums[1];
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      if constexpr (G32) {
        fold(sum[m * stride + n], q[m][n], s[m][1], second.x, second.y);
      } else {
        fold(sum[m * stride + n], q[m][n], s[m][0], first.x + second.x, first.y + second.y);
      }
    }
  }
}

DEVICE const Layer& layer_of(const ProductArgs& a, int tile) {
  int i = 0;
  while (i + 1 < a.layer_count && tile >= a.layers[i + 1].first_tile) ++i;
  return a.layers[i];
}
DEVICE void write_out(const ProductArgs& a, const Layer& layer, int n, int row, float y) {
  if (n >= layer.outputs || row >= a.rows) return;
  if (layer.bias) y += layer.bias[n];
  const size_t at = (size_t)row * a.columns + layer.first_column + n;
  if (a.residual) y += a.residual[at];
  a.out[at] = y;
}

// Where a lane finds the weights and scales of a tile of outputs.
template <int BITS> struct Source {
  const uint4* weights;
  const uint2* scales;
  __device__ __forceinline__ void at(const ProductArgs& a, int tile) {
    const Layer& l = layer_of(a, tile);
    const size_t local = tile - l.first_tile;
    weights = l.weights + local * a.k_tiles * (32 * Words<BITS>::count) + lane();
    scales = l.scales + local * a.groups * 8 + lane() / 4;
  }
};

// Raw weights and scales of one tile.
template <int BITS, bool G32> struct Raw {
  uint4 w[Words<BITS>::count];
  uint2 s[G32 ? 2 : 1];
  __device__ __forceinline__ void load(const Source<BITS>& from, int kt, int group_shift) {
#pragma unroll
    for (int i = 0; i < Words<BITS>::count; ++i) {
      w[i] = __ldg(from.weights + kt * (32 * Words<BITS>::count) + 32 * i);
    }
    if constexpr (BITS != 16) {
      if constexpr (G32) {
        s[0] = __ldg(from.scales + kt * 16);
        s[1] = __ldg(from.scales + kt * 16 + 8);
      } else {
        s[0] = __ldg(from.scales + (kt >> group_shift) * 8);
      }
    }
  }
  __device__ __forceinline__ void scales(const ProductArgs& a, float4* to) const {
    if constexpr (BITS != 16) {
#pragma unroll
      for (int j = 0; j < (G32 ? 2 : 1); ++j) to[j] = scale_of(s[j], a.f16_scales);
    }
  }
};

// Up to 8 * NT rows. A block takes MT tiles of 16 outputs, a warp of it one segment of the inputs. Shared
// memory: of each warp, its rows of some input tiles ahead; in the end the segments' sums.
template <int BITS, bool G32, int NT, int MT, int AHEAD>
DEVICE void few(const ProductArgs& a, u8* memory) {
  const int warp = threadIdx.x / 32;
  const int begin = warp * a.k_tiles / 8, end = (warp + 1) * a.k_tiles / 8;
  const int all = blockIdx.x * MT, last = a.tiles - 1, shift = a.group_shift;
  constexpr int STAGES = NT == 4 ? 3 : 4, STAGE = NT * 1088;
  u8* stages = memory + warp * STAGES * STAGE;
  const auto fetch = [&](int kt) {
    if (kt < end) {
      u8* stage = stages + kt % STAGES * STAGE;
#pragma unroll
      for (int n = 0; n < NT; ++n) {
        // Rows that are not there are nobody's columns, whatever is in their place.
        const uint4* from = a.x + ((size_t)n * a.k_tiles + kt) * 64 + lane();
        if (n * 8 + (int)lane() / 4 < a.rows) {
          copy_async((uint4*)stage + n * 64 + lane(), from);
          copy_async((uint4*)stage + n * 64 + 32 + lane(), from + 32);
        }
      }
      if (BITS != 16 && lane() < NT * 4) {
        const float* from = a.sums + ((size_t)(lane() / 4) * a.k_tiles + kt) * 16 + lane() % 4 * 4;
        copy_async(stage + NT * 1024 + lane() * 16, from);
      }
    }
    end_of_copies();
  };
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) fetch(begin + i);
  float sum[MT][NT][4] = {};
  Raw<BITS, G32> raw[AHEAD][MT];
  Source<BITS> source[MT];
#pragma unroll
  for (int m = 0; m < MT; ++m) source[m].at(a, min(all + m, last));
#pragma unroll
  for (int u = 0; u < AHEAD; ++u) {
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      if (begin + u < end) raw[u][m].load(source[m], begin + u, shift);
    }
  }
  for (int kt = begin; kt < end; kt += AHEAD) {
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
      if (kt + u >= end) break;
      wait_for_copies<STAGES - 2>();
      __syncwarp();
      fetch(kt + u + STAGES - 1);
      const u8* stage = stages + (kt + u) % STAGES * STAGE;
      Rows<BITS> x[NT];
#pragma unroll
      for (int n = 0; n < NT; ++n) x[n].load(stage, stage + NT * 1024, n);
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        u32 w[1][4][4];
        float4 s[1][2];
        unpack<BITS>(raw[u][m].w, w[0]);
        raw[u][m].scales(a, s[0]);
        if (kt + u + AHEAD < end) raw[u][m].load(source[m], kt + u + AHEAD, shift);
        products<BITS, G32, 1, NT>(sum[m], w, s, x);
      }
    }
  }
  float* shared = (float*)memory;
#pragma unroll
  for (int m = 0; m < MT; ++m) {
    __syncthreads();
#pragma unroll
    for (int n = 0; n < NT; ++n) {
      ((float4*)shared)[(warp * NT + n) * 32 + lane()] =
          make_float4(sum[m][n][0], sum[m][n][1], sum[m][n][2], sum[m][n][3]);
    }
    __syncthreads();
    if (all + m > last) continue;
    const Layer& l = layer_of(a, all + m);
    // Neighbouring threads take neighbouring outputs.
    for (int i = threadIdx.x; i < NT * 128; i += 256) {
      const int output = i & 15, column = (i / 16) & 7, n = i / 128;
      const int from = n * 128 + ((output & 7) * 4 + column / 2) * 4 + (output / 8) * 2 + (column & 1);
      float y = shared[from];
#pragma unroll
      for (int w = 1; w < 8; ++w) y += shared[w * NT * 128 + from];
      write_out(a, l, (all + m - l.first_tile) * 16 + output, n * 8 + column, y);
    }
  }
}

// Any number of rows. A block takes 128 outputs and 128 rows, a warp of it 32 and 64. Shared memory: the
// sums of the segments so far, [32][thread] of float2, and rows of some input tiles ahead.
template <int BITS, bool G32> DEVICE void many(const ProductArgs& a, u8* shared) {
  constexpr int MT = 2, NT = 8, STAGES = 4, STAGE = 16384 + 1024;
  const int warp = threadIdx.x / 32, t = lane() & 3, i64 = threadIdx.x & 63, shift = a.group_shift;
  const int first_tile = blockIdx.y * 8 + (warp & 3) * MT, block_rows = blockIdx.x * 16;
  const int first_rows = warp / 4 * NT, last_rows = (a.rows + 7) / 8 - 1, last = a.tiles - 1;
  float2* totals = (float2*)shared;
  u8* stages = shared + 65536;
  float sum[MT * NT][4];
  Raw<BITS, G32> raw[MT];
  Source<BITS> source[MT];
#pragma unroll
  for (int m = 0; m < MT; ++m) {
    source[m].at(a, min(first_tile + m, last));
    raw[m].load(source[m], 0, shift);
  }
  const auto fetch = [&](int kt) {
    if (kt < a.k_tiles) {
      u8* stage = stages + kt % STAGES * STAGE;
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int n = r * 4 + threadIdx.x / 64;
        const size_t at = ((size_t)min(block_rows + n, last_rows) * a.k_tiles + kt) * 64;
        copy_async((uint4*)stage + n * 64 + i64, a.x + at + i64);
      }
      if (BITS != 16 && threadIdx.x < 64) {
        const int n = threadIdx.x / 4, part = threadIdx.x & 3;
        const size_t at = ((size_t)min(block_rows + n, last_rows) * a.k_tiles + kt) * 16;
        copy_async(stage + 16384 + threadIdx.x * 16, a.sums + at + part * 4);
      }
    }
    end_of_copies();
  };
#pragma unroll
  for (int kt = 0; kt < STAGES - 1; ++kt) fetch(kt);
  for (int segment = 0; segment < 8; ++segment) {
#pragma unroll
    for (int i = 0; i < MT * NT * 4; ++i) sum[i / 4][i % 4] = 0;
    const int end = (segment + 1) * a.k_tiles / 8;
    for (int kt = segment * a.k_tiles / 8; kt < end; ++kt) {
      wait_for_copies<STAGES - 2>();
      __syncthreads();
      fetch(kt + STAGES - 1);
      const u8* stage = stages + kt % STAGES * STAGE;
      u32 w[MT][4][4];
      float4 s[MT][2];
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        unpack<BITS>(raw[m].w, w[m]);
        raw[m].scales(a, s[m]);
        raw[m].load(source[m], min(kt + 1, a.k_tiles - 1), shift);
      }
#pragma unroll
      for (int n = 0; n < NT; n += 2) {
        Rows<BITS> x[2];
        x[0].load(stage, stage + 16384, first_rows + n);
        x[1].load(stage, stage + 16384, first_rows + n + 1);
        products<BITS, G32, MT, 2>(sum + n, w, s, x, NT);
      }
    }
#pragma unroll
    for (int i = 0; i < MT * NT * 2; ++i) {
      float2* total = totals + i * 256 + threadIdx.x;
      const float2 part = make_float2(sum[i / 2][i % 2 * 2], sum[i / 2][i % 2 * 2 + 1]);
      *total = segment == 0 ? part : make_float2(total->x + part.x, total->y + part.y);
    }
  }
#pragma unroll
  for (int i = 0; i < MT * NT * 2; ++i) {
    const int m = i / 2 / NT, n = i / 2 % NT;
    if (first_tile + m > last) break;
    const Layer& l = layer_of(a, first_tile + m);
    const int output = (first_tile + m - l.first_tile) * 16 + lane() / 4 + i % 2 * 8;
    const int row = (block_rows + first_rows + n) * 8 + 2 * t;
    const float2 y = totals[i * 256 + threadIdx.x];
    write_out(a, l, output, row, y.x);
    write_out(a, l, output, row + 1, y.y);
  }
}

#define FEW(NAME, BITS, G32, NT, MT, AHEAD, BLOCKS)            \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS)     \
      NAME(const __grid_constant__ ProductArgs a) {             \
    extern __shared__ __align__(16) u8 shared[];                \
    few<BITS, G32, NT, MT, AHEAD>(a, shared);                   \
  }
#define MANY(NAME, BITS, G32)                                   \
  extern "C" __global__ void __launch_bounds__(256, 1)          \
      NAME(const __grid_constant__ ProductArgs a) {             \
    extern __shared__ __align__(16) u8 shared[];                \
    many<BITS, G32>(a, shared);                                 \
  }
#define PRODUCTS(KIND, BITS, G32, AHEAD)                        \
  FEW(few8_##KIND, BITS, G32, 1, 1, AHEAD, 3)                   \
  FEW(few16_##KIND, BITS, G32, 2, 1, AHEAD, 2)                  \
  FEW(few32_##KIND, BITS, G32, 4, 2, 2, 1)                      \
  FEW(few32w_##KIND, BITS, G32, 4, 4, AHEAD / 2, 1)                  \
  MANY(many_##KIND, BITS, G32)
)cuda";

}  // namespace hearth::kernels::cuda
