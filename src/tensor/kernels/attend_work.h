// What one attention node does when it runs: prepare queries, keys and values, then attend.
#pragma once

#include <memory>
#include <vector>

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/paged_kv.h"
#include "tensor/kernels/rope_angles.h"

namespace hearth::kernels {

/// One row's part of a step.
struct RowWork {
  Append append;
  int flat_start = 0;  // of its first token in the flat step
  int base = 0;        // tokens of the rows before it
};

/// Numbers of each token in the flat step, `stride` apart.
struct TokenRows {
  const float* data = nullptr;
  std::size_t stride = 0;
};

struct AttendWork {
  AttendOptions options;
  PageLayout layout;
  int window = 0;
  std::vector<RowWork> rows;
  std::shared_ptr<const RopeAngles> angles;  // of the rows' tokens in order; none: no rotation
  int tokens = 0;
  bool again = false;  // the keys and values are written already

  int heads_per_kv() const { return options.heads / options.kv_heads; }
};

/// Inputs and output of one run.
struct AttendMemory {
  TokenRows q, k, v;
  const float *q_norm = nullptr, *k_norm = nullptr;
  const float* sinks = nullptr;
  float* out = nullptr;  // [tokens, heads · head_dim]
};

/// Writes keys and values to the pages; queries [kv_heads][tokens][heads_per_kv][head_dim].
void prepare(const AttendWork& work, const AttendMemory& memory, float* queries);

/// Attends for every row, from queries as prepare() leaves them. @param sinks [heads], or null
void attend_rows(const AttendWork& work, const float* queries, const float* sinks, float* out);

}  // namespace hearth::kernels
