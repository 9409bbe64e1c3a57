// CUDA C of what works row by row: norms, gates, embedding rows, and activations laid out for a
// product.
#include "tensor/kernels/cuda/source.h"

namespace hearth::kernels::cuda {

const char* const source_rowwise = R"cuda(
struct NormArgs {
  const float* x;       // [rows, width]
  const float* y;       // added to x, or null
  const float* weight;  // [width] or null
  float* sum;           // x + y, or null
  float* out;
  Fragments fragments;
  int width;
  float eps;
};

// A block a row. width is a multiple of 8. What a thread reads first it keeps.
extern "C" __global__ void __launch_bounds__(512) rms_norm(NormArgs a) {
  constexpr int KEPT = 2;
  __shared__ float parts[16];
  const int row = blockIdx.x, eighths = a.width / 8;
  const size_t at = (size_t)row * a.width;
  float kept[KEPT][8], weights[KEPT][8], squares = 0;
  const auto take = [&](int e, float* x) {
    load8(a.x + at + 8 * e, x);
    if (a.y) {
      float y[8];
      load8(a.y + at + 8 * e, y);
      for (int i = 0; i < 8; ++i) x[i] += y[i];
      store8(a.sum + at + 8 * e, x);
    }
    for (int i = 0; i < 8; ++i) squares = fmaf(x[i], x[i], squares);
  };
#pragma unroll
  for (int k = 0; k < KEPT; ++k) {
    const int e = threadIdx.x + 512 * k;
    for (int i = 0; i < 8; ++i) kept[k][i] = 0, weights[k][i] = 1;
    if (e >= eighths) continue;
    if (a.weight) load8(a.weight + 8 * e, weights[k]);
    take(e, kept[k]);
  }
  for (int e = threadIdx.x + 512 * KEPT; e < eighths; e += 512) {
    float x[8];
    take(e, x);
  }
  for (int d = 16; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, d);
  if (lane() == 0) parts[threadIdx.x / 32] = squares;
  __syncthreads();
  squares = 0;
  for (int i = 0; i < 16; ++i) squares += parts[i];
  const float factor = rsqrtf(squares / a.width + a.eps);
  const auto finish = [&](int e, float* x, const float* w) {
    for (int i = 0; i < 8; ++i) x[i] = x[i] * factor * w[i];
    if (e < eighths) store8(a.out + at + 8 * e, x);
    if (a.fragments.tiles) write_fragment(a.fragments, row, e, x, e < eighths);
  };
#pragma unroll
  for (int k = 0; k < KEPT; ++k) {
    if (512 * k < eighths) finish(threadIdx.x + 512 * k, kept[k], weights[k]);
  }
  for (int first = 512 * KEPT; first < eighths; first += 512) {
    const int e = first + threadIdx.x;
    float x[8], w[8];
    for (int i = 0; i < 8; ++i) x[i] = 0, w[i] = 1;
    if (e < eighths) {
      load8((a.y ? a.sum : a.x) + at + 8 * e, x);
      if (a.weight) load8(a.weight + 8 * e, w);
    }
    finish(e, x, w);
  }
}

struct GateArgs {
  const float* gate;  // [rows, stride], null: x itself is laid out, from `up`
  const float* up;
  float* out;  // [rows, width] or null
  Fragments fragments;
  int width, stride;
  int gelu;
};

DEVICE float gate_of(float x, int gelu) {
  if (!gelu) return x / (1.0f + __expf(-x));
  const float inner = 0.7978845608028654f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + tanhf(inner));
}

// Blocks: (width / 8 / 256, rows).
extern "C" __global__ void __launch_bounds__(256) gated(GateArgs a) {
  const int e = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
  const bool inside = 8 * e < a.width;
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = 0;
  if (inside) {
    load8(a.up + (size_t)row * a.stride + 8 * e, x);
    if (a.gate) {
      float gate[8];
      load8(a.gate + (size_t)row * a.stride + 8 * e, gate);
      for (int i = 0; i < 8; ++i) x[i] *= gate_of(gate[i], a.gelu);
    }
    if (a.out) store8(a.out + (size_t)row * a.width + 8 * e, x);
  }
  if (a.fragments.tiles) write_fragment(a.fragments, row, e, x, inside);
}

struct RowsArgs {
  const int* ids;
  const u32* weights;
  const u32* scales;
  float* out;  // [ids, inputs]
  int inputs, outputs, bits, groups, f16_scales;
};

// Output n's inputs 8e .. 8e + 7 of packed weights, as pack.h lays them out.
DEVICE void unpack8(const RowsArgs& a, int n, int e, float* x) {
  const int tile = n / 16, h = (n / 8) & 1, g = n & 7;
  const int kt = e / 8, j = (e / 4) & 1, t = e & 3, tiles = a.inputs / 64;
  const size_t at = (size_t)tile * tiles + kt;
  if (a.bits == 16) {
    const uint4 v = ((const uint4*)a.weights)[((at * 2 + j) * 2 + h) * 32 + g * 4 + t];
    x[0] = low_bf16(v.x); x[4] = high_bf16(v.x); x[1] = low_bf16(v.y); x[5] = high_bf16(v.y);
    x[2] = low_bf16(v.z); x[6] = high_bf16(v.z); x[3] = low_bf16(v.w); x[7] = high_bf16(v.w);
    return;
  }
  const int group = e * 8 / (a.inputs / a.groups);
  const u32 pair = a.scales[(((size_t)tile * a.groups + group) * 8 + g) * 2 + h];
  const float s = a.f16_scales ? from_f16(pair) : low_bf16(pair);
  const float b = a.f16_scales ? from_f16(pair >> 16) : high_bf16(pair);
  for (int i = 0; i < 8; ++i) {
    u32 q;
    if (a.bits == 4) {
      q = (a.weights[(at * 32 + g * 4 + t) * 4 + h * 2 + j] >> (4 * i)) & 15;
    } else {
      q = (a.weights[((at * 2 + j) * 32 + g * 4 + t) * 4 + h * 2 + i / 4] >> (8 * (i & 3))) & 255;
    }
    x[i] = fmaf((float)q, s, b);
  }
}

// Blocks: (inputs / 8 / 128, ids). An id outside the table gives NaN.
extern "C" __global__ void __launch_bounds__(128) rows(RowsArgs a) {
  const int e = blockIdx.x * 128 + threadIdx.x;
  if (8 * e >= a.inputs) return;
  const int id = a.ids[blockIdx.y];
  float x[8];
  if (id < 0 || id >= a.outputs) {
    for (int i = 0; i < 8; ++i) x[i] = __int_as_float(0x7fc00000);
  } else {
    unpack8(a, id, e, x);
  }
  store8(a.out + (size_t)blockIdx.y * a.inputs + 8 * e, x);
}
)cuda";

}  // namespace hearth::kernels::cuda
