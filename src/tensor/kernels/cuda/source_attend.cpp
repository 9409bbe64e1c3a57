// CUDA C of attention. Keys are taken in chunks of 64, each attended for itself; a query's result
// is its chunks' merged one after the other. `attend_split` gives each chunk to a warp and
// `attend_merge` joins them; `attend_serial` does both in one warp, with the same operations in the
// same order.
#include "tensor/kernels/cuda/source.h"

namespace hearth::kernels::cuda {

const char* const source_attend = R"cuda(
struct KvRow {
  u16* keys;    // f16 [Hk, capacity, Dh]
  u16* values;
  int start, length;  // of its tokens within the step
  int offset;         // position of the first
  int capacity;
  int first_partial;  // of attend_split
  int chunks;         // of attend_split: none where attend_serial takes the row
};
struct AttendArgs {
  const float* q; const float* k; const float* v;  // [T, stride]
  const float* q_norm; const float* k_norm;        // [Dh] or null
  u16* queries;      // f16 [T, H, Dh], rotated
  float* partials;   // [query and chunk][Dh]
  float2* weights;   // of each: greatest score, sum
  float* out;        // [T, H * Dh]
  Fragments fragments;
  int q_stride, kv_stride;
  int heads, kv_heads, dims, traditional, window, rows, tokens;
  float eps, scale, rope_scale, mscale;
  float inv_freq[64];
  KvRow row[32];
};

struct GrowArgs {
  const uint4* from;
  uint4* to;
  int old_numbers, new_numbers;
};

// Blocks: (new_numbers / 256, Hk): what was written, then zeros.
extern "C" __global__ void __launch_bounds__(256) attend_grow(GrowArgs a) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= a.new_numbers) return;
  a.to[(size_t)blockIdx.y * a.new_numbers + i] =
      i < a.old_numbers ? a.from[(size_t)blockIdx.y * a.old_numbers + i] : make_uint4(0, 0, 0, 0);
}

DEVICE const KvRow& row_of(const AttendArgs& a, int token) {
  int i = 0;
  while (i + 1 < a.rows && token >= a.row[i].start + a.row[i].length) ++i;
  return a.row[i];
}

// One warp: a head of a token, normed and rotated. x is in shared memory.
template <int DH> DEVICE void rotate(const AttendArgs& a, const float* weight, float* x, int position) {
  if (weight) {
    float squares = 0;
    for (int d = lane(); d < DH; d += 32) squares = fmaf(x[d], x[d], squares);
    for (int s = 16; s > 0; s /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, s);
    const float factor = rsqrtf(squares / DH + a.eps);
    for (int d = lane(); d < DH; d += 32) x[d] = x[d] * factor * weight[d];
    __syncwarp();
  }
  const int half = a.dims / 2;
  float turned[DH / 32];
#pragma unroll
  for (int n = 0; n < DH / 32; ++n) {
    const int d = lane() + 32 * n;
    turned[n] = x[d];
    if (d >= a.dims) continue;
    const int i = a.traditional ? d / 2 : d < half ? d : d - half;
    const bool first = a.traditional ? (d & 1) == 0 : d < half;
    float sine, cosine;
    sincosf((float)position * a.rope_scale * a.inv_freq[i], &sine, &cosine);
    cosine *= a.mscale;
    sine *= a.mscale;
    const int other = a.traditional ? d ^ 1 : first ? d + half : d - half;
    turned[n] = first ? x[d] * cosine - x[other] * sine : x[other] * sine + x[d] * cosine;
  }
  __syncwarp();
#pragma unroll
  for (int n = 0; n < DH / 32; ++n) x[lane() + 32 * n] = turned[n];
}

// Blocks: (tokens, (H + 2 Hk) / 4), a warp a head: rotates queries, appends keys and values.
template <int DH> DEVICE void append(const AttendArgs& a) {
  __shared__ float shared[4][DH];
  float* x = shared[threadIdx.x / 32];
  const int token = blockIdx.x, head = blockIdx.y * 4 + threadIdx.x / 32;
  if (head >= a.heads + 2 * a.kv_heads) return;
  const KvRow& row = row_of(a, token);
  const int position = row.offset + token - row.start;
  const bool query = head < a.heads, key = !query && head < a.heads + a.kv_heads;
  const int kv_head = query ? 0 : key ? head - a.heads : head - a.heads - a.kv_heads;
  const float* from = query ? a.q + (size_t)token * a.q_stride + head * DH
                            : (key ? a.k : a.v) + (size_t)token * a.kv_stride + kv_head * DH;
  for (int d = lane(); d < DH; d += 32) x[d] = from[d];
  __syncwarp();
  if (query || key) rotate<DH>(a, query ? a.q_norm : a.k_norm, x, position);
  u16* to = query ? a.queries + ((size_t)token * a.heads + head) * DH
                  : (key ? row.keys : row.values) + ((size_t)kv_head * row.capacity + position) * DH;
  for (int d = lane(); d < DH; d += 32) to[d] = to_f16(x[d]);
}

template <int DH> struct Queries {
  uint4 top[DH / 32], bottom[DH / 32];  // of rows g and g + 8
  int top_position, bottom_position;    // -1: no query
};

// Query number `index` of a kv head within a row of the step: token index / group, head index % group.
template <int DH> DEVICE Queries<DH> load_queries(const AttendArgs& a, const KvRow& row, int kv_head, int tile) {
  Queries<DH> q;
  const int group = a.heads / a.kv_heads, g = lane() / 4, t = lane() & 3;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const int index = tile * 16 + side * 8 + g, token = index / group;
    const bool inside = token < row.length;
    const size_t at = (size_t)(row.start + token) * a.heads + kv_head * group + index % group;
    (side ? q.bottom_position : q.top_position) = inside ? row.offset + token : -1;
#pragma unroll
    for (int d = 0; d < DH / 32; ++d) {
      const uint4 v = inside ? *(const uint4*)(a.queries + at * DH + d * 32 + t * 8) : make_uint4(0, 0, 0, 0);
      if (side) q.bottom[d] = v; else q.top[d] = v;
    }
  }
  return q;
}

// What a chunk gives for rows g and g + 8: greatest score (base 2), sum of weights, weighted values:
// o[D][i] holds dims 64 D + 16 t + i (o0, o2) and + 8 (o1, o3).
template <int DH> struct Chunk {
  float greatest[2], sum[2];
  float o[DH / 64][8][4];
};

template <int DH> DEVICE void attend_chunk(const AttendArgs& a, const KvRow& row, int kv_head, int chunk,
                                           const Queries<DH>& q, Chunk<DH>& c) {
  const int g = lane() / 4, t = lane() & 3, first = chunk * 64;
  const u16* keys = row.keys + ((size_t)kv_head * row.capacity + first) * DH;
  const u16* values = row.values + ((size_t)kv_head * row.capacity + first) * DH;
  float s[8][4];
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0;
#pragma unroll
    for (int d = 0; d < DH / 32; ++d) {
      const uint4 k = *(const uint4*)(keys + (n * 8 + g) * DH + d * 32 + t * 8);
      mma_f16(s[n], q.top[d].x, q.bottom[d].x, q.top[d].y, q.bottom[d].y, k.x, k.y);
      mma_f16(s[n], q.top[d].z, q.bottom[d].z, q.top[d].w, q.bottom[d].w, k.z, k.w);
    }
  }
  const float scale = a.scale * 1.4426950408889634f;
  c.greatest[0] = c.greatest[1] = MINUS_INFINITY;
#pragma unroll
  for (int n = 0; n < 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first + n * 8 + 2 * t + (i & 1), position = i < 2 ? q.top_position : q.bottom_position;
      const bool seen = key <= position && (a.window == 0 || key > position - a.window);
      s[n][i] = seen ? __fmul_rn(s[n][i], scale) : MINUS_INFINITY;
      c.greatest[i / 2] = fmaxf(c.greatest[i / 2], s[n][i]);
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    c.greatest[r] = fmaxf(c.greatest[r], __shfl_xor_sync(0xffffffffu, c.greatest[r], 1));
    c.greatest[r] = fmaxf(c.greatest[r], __shfl_xor_sync(0xffffffffu, c.greatest[r], 2));
    c.sum[r] = 0;
  }
#pragma unroll
  for (int n = 0; n < 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float greatest = c.greatest[i / 2];
      s[n][i] = greatest == MINUS_INFINITY ? 0.0f : exp2_fast(__fsub_rn(s[n][i], greatest));
      c.sum[i / 2] = __fadd_rn(c.sum[i / 2], s[n][i]);
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    c.sum[r] = __fadd_rn(c.sum[r], __shfl_xor_sync(0xffffffffu, c.sum[r], 1));
    c.sum[r] = __fadd_rn(c.sum[r], __shfl_xor_sync(0xffffffffu, c.sum[r], 2));
  }
#pragma unroll
  for (int d = 0; d < DH / 64; ++d)
#pragma unroll
    for (int i = 0; i < 8; ++i) c.o[d][i][0] = c.o[d][i][1] = c.o[d][i][2] = c.o[d][i][3] = 0;
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    const u32 p0 = to_f16x2(s[2 * m][0], s[2 * m][1]), p1 = to_f16x2(s[2 * m][2], s[2 * m][3]);
    const u32 p2 = to_f16x2(s[2 * m + 1][0], s[2 * m + 1][1]), p3 = to_f16x2(s[2 * m + 1][2], s[2 * m + 1][3]);
#pragma unroll
    for (int d = 0; d < DH / 64; ++d) {
      u32 v[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = 16 * m + 2 * t + (i & 1) + (i / 2) * 8;
        const uint4 x = *(const uint4*)(values + key * DH + d * 64 + g * 8);
        v[i][0] = x.x; v[i][1] = x.y; v[i][2] = x.z; v[i][3] = x.w;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const u32 select = i & 1 ? 0x7632 : 0x5410;
        mma_f16(c.o[d][i], p0, p1, p2, p3, prmt(v[0][i / 2], v[1][i / 2], select),
                prmt(v[2][i / 2], v[3][i / 2], select));
      }
    }
  }
}

// How much what was merged so far, and what comes, weigh in the greater maximum's scale.
DEVICE float2 shares(float& greatest, float next) {
  const float both = fmaxf(greatest, next);
  const float2 w = make_float2(exp2_fast(__fsub_rn(greatest, both)), exp2_fast(__fsub_rn(next, both)));
  greatest = both;
  return w;
}
DEVICE float merge(float x, float next, float2 w) { return __fmaf_rn(next, w.y, __fmul_rn(x, w.x)); }

// Blocks: (chunks / 4, Hk, rows), a warp a chunk; rows whose queries of a kv head fit one tile.
template <int DH> DEVICE void split(const AttendArgs& a) {
  const KvRow& row = a.row[blockIdx.z];
  const int chunk = blockIdx.x * 4 + threadIdx.x / 32, kv_head = blockIdx.y, t = lane() & 3;
  if (chunk >= row.chunks) return;
  // The values come while the scores are computed.
  const u16* values = row.values + ((size_t)kv_head * row.capacity + chunk * 64) * DH;
#pragma unroll
  for (int i = 0; i < DH / 32; ++i) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(values + (i * 32 + lane()) * 64));
  }
  const Queries<DH> q = load_queries<DH>(a, row, kv_head, 0);
  Chunk<DH> c;
  attend_chunk<DH>(a, row, kv_head, chunk, q, c);
  const int group = a.heads / a.kv_heads;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const int index = side * 8 + lane() / 4;
    if ((side ? q.bottom_position : q.top_position) < 0) continue;
    const int query = index / group * a.heads + kv_head * group + index % group;
    const size_t at = row.first_partial + (size_t)query * row.chunks + chunk;
    if (t == 0) a.weights[at] = make_float2(c.greatest[side], c.sum[side]);
#pragma unroll
    for (int d = 0; d < DH / 64; ++d) {
      float low[8], high[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        low[i] = c.o[d][i][2 * side];
        high[i] = c.o[d][i][2 * side + 1];
      }
      store8(a.partials + at * DH + d * 64 + 16 * t, low);
      store8(a.partials + at * DH + d * 64 + 16 * t + 8, high);
    }
  }
}

// Blocks: (tokens * H * Dh / 8 / 128), eight dims a thread.
template <int DH> DEVICE void merge_split(const AttendArgs& a) {
  const int i = blockIdx.x * 128 + threadIdx.x, query = i / (DH / 8), eighth = i % (DH / 8);
  const int token = query / a.heads, head = query % a.heads;
  const bool inside = token < a.tokens;
  const KvRow& row = row_of(a, inside ? token : 0);
  float greatest = MINUS_INFINITY, sum = 0, o[8] = {};
  const size_t first = row.first_partial + ((size_t)(token - row.start) * a.heads + head) * row.chunks;
  for (int chunk = 0; inside && chunk < row.chunks; ++chunk) {
    const float2 weight = a.weights[first + chunk];
    float x[8];
    load8(a.partials + (first + chunk) * DH + 8 * eighth, x);
    if (weight.x == MINUS_INFINITY) continue;
    const float2 w = shares(greatest, weight.x);
    sum = merge(sum, weight.y, w);
    for (int d = 0; d < 8; ++d) o[d] = merge(o[d], x[d], w);
  }
  for (int d = 0; d < 8; ++d) o[d] = __fdiv_rn(o[d], sum);
  if (inside && row.chunks) store8(a.out + (size_t)query * DH + 8 * eighth, o);
  if (a.fragments.tiles) write_fragment(a.fragments, token, head * (DH / 8) + eighth, o, inside);
}

// Blocks: (tiles / 4, Hk, rows), a warp a tile of 16 queries of the rows that attend_split leaves.
template <int DH> DEVICE void serial(const AttendArgs& a) {
  const KvRow& row = a.row[blockIdx.z];
  const int group = a.heads / a.kv_heads, tiles = (row.length * group + 15) / 16;
  // The longest first.
  const int tile = tiles - 1 - (int)(blockIdx.x * 4 + threadIdx.x / 32), kv_head = blockIdx.y, t = lane() & 3;
  if (row.chunks || tile < 0) return;
  const Queries<DH> q = load_queries<DH>(a, row, kv_head, tile);
  float greatest[2] = {MINUS_INFINITY, MINUS_INFINITY}, sum[2] = {0, 0};
  float o[DH / 64][8][4] = {};
  const int last = row.offset + min(tile * 16 + 15, row.length * group - 1) / group;
  for (int chunk = 0; chunk <= last / 64; ++chunk) {
    Chunk<DH> c;
    attend_chunk<DH>(a, row, kv_head, chunk, q, c);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (c.greatest[r] == MINUS_INFINITY) continue;
      const float2 w = shares(greatest[r], c.greatest[r]);
      sum[r] = merge(sum[r], c.sum[r], w);
#pragma unroll
      for (int d = 0; d < DH / 64; ++d)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          o[d][i][2 * r] = merge(o[d][i][2 * r], c.o[d][i][2 * r], w);
          o[d][i][2 * r + 1] = merge(o[d][i][2 * r + 1], c.o[d][i][2 * r + 1], w);
        }
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if ((r ? q.bottom_position : q.top_position) < 0) continue;
    const int index = tile * 16 + r * 8 + lane() / 4;
    float* out = a.out + ((size_t)(row.start + index / group) * a.heads + kv_head * group + index % group) * DH;
#pragma unroll
    for (int d = 0; d < DH / 64; ++d) {
      float low[8], high[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        low[i] = __fdiv_rn(o[d][i][2 * r], sum[r]);
        high[i] = __fdiv_rn(o[d][i][2 * r + 1], sum[r]);
      }
      store8(out + d * 64 + 16 * t, low);
      store8(out + d * 64 + 16 * t + 8, high);
    }
  }
}

#define ATTEND(DH)                                                                       \
  extern "C" __global__ void __launch_bounds__(128) attend_append_##DH(                  \
      const __grid_constant__ AttendArgs a) { append<DH>(a); }                           \
  extern "C" __global__ void __launch_bounds__(128) attend_split_##DH(                   \
      const __grid_constant__ AttendArgs a) { split<DH>(a); }                            \
  extern "C" __global__ void __launch_bounds__(128) attend_merge_##DH(                   \
      const __grid_constant__ AttendArgs a) { merge_split<DH>(a); }                      \
  extern "C" __global__ void __launch_bounds__(128) attend_serial_##DH(                  \
      const __grid_constant__ AttendArgs a) { serial<DH>(a); }
ATTEND(64)
ATTEND(128)
)cuda";

}  // namespace hearth::kernels::cuda
