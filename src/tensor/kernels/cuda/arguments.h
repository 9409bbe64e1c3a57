// The kernels' arguments as the host fills them: field for field what the CUDA C declares.
#pragma once

#include <cstdint>

namespace hearth::kernels::cuda {

struct FragmentsArgument {
  void* values = nullptr;
  float* sums = nullptr;
  int tiles = 0;
};

struct NormArguments {
  const float *x, *y, *weight;
  float *sum, *out;
  FragmentsArgument fragments;
  int width;
  float eps;
};

struct GateArguments {
  const float *gate, *up;
  float* out;
  FragmentsArgument fragments;
  int width, stride, gelu;
};

struct RowsArguments {
  const std::int32_t* ids;
  const std::uint32_t *weights, *scales;
  float* out;
  int inputs, outputs, bits, groups, f16_scales;
};

inline constexpr int most_layers = 4;  // of one product

struct LayerArgument {
  const void *weights, *scales;
  const float* bias;
  int first_tile, outputs, first_column;
};

struct ProductArguments {
  LayerArgument layers[most_layers];
  const void* x;
  const float *sums, *residual;
  float* out;
  int layer_count, tiles, k_tiles, rows, columns, groups, group_shift, f16_scales;
};

inline constexpr int most_rows = 32;  // of one launch of attention
inline constexpr int most_frequencies = 64;

struct KvRowArgument {
  std::uint16_t *keys, *values;
  int start, length, offset, capacity, first_partial, chunks;
};

struct AttendArguments {
  const float *q, *k, *v, *q_norm, *k_norm;
  std::uint16_t* queries;
  float *partials, *weights, *out;
  FragmentsArgument fragments;
  int q_stride, kv_stride;
  int heads, kv_heads, dims, traditional, window, rows, tokens;
  float eps, scale, rope_scale, mscale;
  float inv_freq[most_frequencies];
  KvRowArgument row[most_rows];
};

struct GrowArguments {
  const void* from;
  void* to;
  int old_numbers, new_numbers;  // of a head, in eights
};

}  // namespace hearth::kernels::cuda
