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
  int layer_count, tiles, k_tiles, rows, columns, groups, f16_scales;
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
  __device__ __forceinline__ void load(const ProductArgs& a, int row_tile, int kt) {
    const size_t at = ((size_t)row_tile * a.k_tiles + kt) * 2;
    b[0] = __ldg(a.x + at * 32 + lane());
    b[1] = __ldg(a.x + at * 32 + 32 + lane());
    if constexpr (BITS != 16) {
      const float* from = a.sums + at * 8 + 2 * (lane() & 3);
      sums[0] = __ldg((const float2*)from);
      sums[1] = __ldg((const float2*)(from + 8));
    }
  }
};

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
// The group that input tile kt (half j) is in.
DEVICE int group_of(const ProductArgs& a, int kt, int j) { return (2 * kt + j) * a.groups / (2 * a.k_tiles); }

DEVICE void write_out(const ProductArgs& a, const Layer& layer, int n, int row, float y) {
  if (n >= layer.outputs || row >= a.rows) return;
  if (layer.bias) y += layer.bias[n];
  const size_t at = (size_t)row * a.columns + layer.first_column + n;
  if (a.residual) y += a.residual[at];
  a.out[at] = y;
}

// Raw weights and scales of one tile.
template <int BITS, bool G32> struct Raw {
  uint4 w[Words<BITS>::count];
  uint2 s[G32 ? 2 : 1];
  __device__ __forceinline__ void load(const ProductArgs& a, const Layer& l, int tile, int kt) {
    const uint4* from = l.weights + ((size_t)tile * a.k_tiles + kt) * (32 * Words<BITS>::count) + lane();
#pragma unroll
    for (int i = 0; i < Words<BITS>::count; ++i) w[i] = __ldg(from + 32 * i);
    if constexpr (BITS != 16) {
#pragma unroll
      for (int j = 0; j < (G32 ? 2 : 1); ++j) {
        s[j] = __ldg(l.scales + ((size_t)tile * a.groups + group_of(a, kt, j)) * 8 + lane() / 4);
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

// Up to 8 * NT rows. A block takes MT tiles of 16 outputs, a warp of it one segment of the inputs.
template <int BITS, bool G32, int NT, int MT, int AHEAD>
DEVICE void few(const ProductArgs& a, float* shared) {
  const int warp = threadIdx.x / 32, t = lane() & 3;
  const int begin = warp * a.k_tiles / 8, end = (warp + 1) * a.k_tiles / 8;
  const int all = blockIdx.x * MT;
  float sum[MT][NT][4] = {};
  Raw<BITS, G32> raw[AHEAD][MT];
  const auto load = [&](int u, int kt) {
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      if (kt < end && all + m < a.tiles) {
        const Layer& l = layer_of(a, all + m);
        raw[u][m].load(a, l, all + m - l.first_tile, kt);
      }
    }
  };
#pragma unroll
  for (int u = 0; u < AHEAD; ++u) load(u, begin + u);
  for (int kt = begin; kt < end; kt += AHEAD) {
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
      if (kt + u >= end) break;
      Rows<BITS> x[NT];
#pragma unroll
      for (int n = 0; n < NT; ++n) x[n].load(a, n, kt + u);
      u32 w[MT][4][4];
      float4 s[MT][2];
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        unpack<BITS>(raw[u][m].w, w[m]);
        raw[u][m].scales(a, s[m]);
      }
      load(u, kt + u + AHEAD);
      if constexpr (NT == 1) {
#pragma unroll
        for (int m = 0; m < MT; ++m) products<BITS, G32, 1, 1>(&sum[m][0], w + m, s + m, x);
      } else {
#pragma unroll
        for (int n = 0; n < NT; n += 2) products<BITS, G32, MT, 2>(&sum[0][n], w, s, x + n, NT);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < MT; ++m) {
#pragma unroll
    for (int n = 0; n < NT; ++n) {
      ((float4*)shared)[((warp * MT + m) * NT + n) * 32 + lane()] =
          make_float4(sum[m][n][0], sum[m][n][1], sum[m][n][2], sum[m][n][3]);
    }
  }
  __syncthreads();
  // Number i of a segment's sums: [m][n][lane][4]. Neighbouring threads take neighbouring outputs.
  for (int i = threadIdx.x; i < MT * NT * 128; i += 256) {
    const int output = i & 15, column = (i / 16) & 7, n = (i / 128) % NT, m = i / 128 / NT;
    const int from = (m * NT + n) * 128 + ((output & 7) * 4 + column / 2) * 4 + (output / 8) * 2 + (column & 1);
    float y = shared[from];
#pragma unroll
    for (int w = 1; w < 8; ++w) y += shared[w * MT * NT * 128 + from];
    if (all + m < a.tiles) {
      const Layer& l = layer_of(a, all + m);
      write_out(a, l, (all + m - l.first_tile) * 16 + output, n * 8 + column, y);
    }
  }
}

// Any number of rows. A block takes 128 outputs and 128 rows, a warp of it 32 and 64. The sums of the
// segments so far are in `totals`, [32 numbers][thread] of float2.
template <int BITS, bool G32> DEVICE void many(const ProductArgs& a, float2* totals) {
  constexpr int MT = 2, NT = 8;
  const int warp = threadIdx.x / 32, t = lane() & 3;
  const int first_tile = blockIdx.y * 8 + (warp & 3) * MT, first_rows = blockIdx.x * 16 + (warp / 4) * NT;
  const int row_tiles = (a.rows + 7) / 8;
  if (first_tile >= a.tiles || first_rows >= row_tiles) return;
  float sum[MT * NT][4];
  Raw<BITS, G32> raw[MT];
  const Layer* layers[MT];
  for (int m = 0; m < MT; ++m) layers[m] = &layer_of(a, min(first_tile + m, a.tiles - 1));
  const auto load = [&](int kt) {
#pragma unroll
    for (int m = 0; m < MT; ++m) {
      raw[m].load(a, *layers[m], min(first_tile + m, a.tiles - 1) - layers[m]->first_tile, kt);
    }
  };
  const auto load_rows = [&](Rows<BITS>* x, int n, int kt) {
#pragma unroll
    for (int i = 0; i < 2; ++i) x[i].load(a, min(first_rows + n + i, row_tiles - 1), kt);
  };
  Rows<BITS> x[2][2];
  load(0);
  load_rows(x[0], 0, 0);
  for (int segment = 0; segment < 8; ++segment) {
#pragma unroll
    for (int i = 0; i < MT * NT * 4; ++i) sum[i / 4][i % 4] = 0;
    const int end = (segment + 1) * a.k_tiles / 8;
    for (int kt = segment * a.k_tiles / 8; kt < end; ++kt) {
      const int next = min(kt + 1, a.k_tiles - 1);
      u32 w[MT][4][4];
      float4 s[MT][2];
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        unpack<BITS>(raw[m].w, w[m]);
        raw[m].scales(a, s[m]);
      }
      load(next);
#pragma unroll
      for (int n = 0; n < NT; n += 2) {
        load_rows(x[(n / 2 + 1) & 1], (n + 2) % NT, n + 2 < NT ? kt : next);
        products<BITS, G32, MT, 2>(sum + n, w, s, x[(n / 2) & 1], NT);
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
    if (first_tile + m >= a.tiles) break;
    const int output = (first_tile + m - layers[m]->first_tile) * 16 + lane() / 4 + i % 2 * 8;
    const int row = (first_rows + n) * 8 + 2 * t;
    const float2 y = totals[i * 256 + threadIdx.x];
    write_out(a, *layers[m], output, row, y.x);
    write_out(a, *layers[m], output, row + 1, y.y);
  }
}

#define FEW(NAME, BITS, G32, NT, MT, AHEAD)                                     \
  extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ ProductArgs a) { \
    __shared__ float shared[8 * MT * NT * 128];                                 \
    few<BITS, G32, NT, MT, AHEAD>(a, shared);                                   \
  }
#define MANY(NAME, BITS, G32)                                                   \
  extern "C" __global__ void __launch_bounds__(256, 1)                         \
      NAME(const __grid_constant__ ProductArgs a) {                             \
    extern __shared__ float2 totals[];                                          \
    many<BITS, G32>(a, totals);                                                 \
  }
#define PRODUCTS(KIND, BITS, G32, AHEAD)     \
  FEW(few8_##KIND, BITS, G32, 1, 1, AHEAD)   \
  FEW(few16_##KIND, BITS, G32, 2, 1, AHEAD / 2) \
  FEW(few32_##KIND, BITS, G32, 4, 2, 2)      \
  MANY(many_##KIND, BITS, G32)
)cuda";

}  // namespace hearth::kernels::cuda
