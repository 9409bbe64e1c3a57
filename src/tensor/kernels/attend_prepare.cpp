// Norm, rotation and scale of queries and keys; keys and values into their pages.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/kernels/attend_work.h"
#include "tensor/kernels/rowwise_simd.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels {
namespace {

constexpr int tokens_at_once = 16;  // of a task

/// A head's numbers after its norm and rotation.
void turn_head(const AttendWork& work, const float* from, const float* norm, std::size_t token,
               float* to) {
  const int dim = work.options.head_dim;
  const float eps = work.options.norm_eps;
  const bool before = norm != nullptr && !work.options.norm_turned;
  if (before) {
    rms_norm_row(from, norm, eps, dim, to);
  } else {
    std::copy_n(from, dim, to);
  }
  if (work.angles) work.angles->rotate(to, token);
  if (norm != nullptr && !before) rms_norm_row(to, norm, eps, dim, to);
}

void prepare_queries(const AttendWork& work, const float* from, const float* norm,
                     std::size_t token, int position, float* queries) {
  const RopeTable& rope = work.options.rope;
  float scale = work.options.scale;
  if (rope.query_growth_from > 0) {
    const auto rounds = static_cast<float>(position / rope.query_growth_from);
    scale *= 1 + rope.query_growth * std::log1p(rounds);
  }
  const int dim = work.options.head_dim;
  const int group = work.heads_per_kv();
  for (int head = 0; head < work.options.heads; ++head) {
    const std::size_t kv_head = head / group;
    float* to = queries + ((kv_head * work.tokens + token) * group + head % group) * dim;
    turn_head(work, from + static_cast<std::size_t>(head) * dim, norm, token, to);
    for (int i = 0; i < dim; ++i) to[i] *= scale;
  }
}

void write_keys(const AttendWork& work, const float* from, const float* norm, std::size_t token,
                const Page& page, int slot, float* turned, std::uint16_t* narrow) {
  const int dim = work.options.head_dim;
  for (int head = 0; head < work.options.kv_heads; ++head) {
    turn_head(work, from + static_cast<std::size_t>(head) * dim, norm, token, turned);
    to_f16(turned, dim, narrow);
    std::uint16_t* to = page.keys(work.layout, head) + slot;
    for (int i = 0; i < dim; ++i) to[i * page_tokens] = narrow[i];
  }
}

void write_values(const AttendWork& work, const float* from, const Page& page, int slot) {
  const int dim = work.options.head_dim;
  for (int head = 0; head < work.options.kv_heads; ++head) {
    to_f16(from + static_cast<std::size_t>(head) * dim, dim,
           page.values(work.layout, head) + slot * work.layout.padded_dim());
  }
}

struct Use;

void prepare_tokens(const AttendWork& work, const RowWork& row, const AttendMemory& memory,
                    int first, int end, float* queries) {
  const std::size_t dim = work.options.head_dim;
  auto* turned = reinterpret_cast<float*>(scratch<Use>(dim * 6));
  auto* narrow = reinterpret_cast<std::uint16_t*>(turned + dim);
  for (int i = first; i < end; ++i) {
    const std::size_t flat = row.flat_start + i;
    const std::size_t token = row.base + i;
    const int position = row.append.start + i;
    const Page& page = row.append.table->of_page(position / page_tokens);
    const int slot = position % page_tokens;
    prepare_queries(work, memory.q.data + flat * memory.q.stride, memory.q_norm, token, position,
                    queries);
    if (work.again) continue;
    write_keys(work, memory.k.data + flat * memory.k.stride, memory.k_norm, token, page, slot,
               turned, narrow);
    write_values(work, memory.v.data + flat * memory.v.stride, page, slot);
  }
}

}  // namespace

void prepare(const AttendWork& work, const AttendMemory& memory, float* queries) {
  for (const auto& row : work.rows) {
    if (row.append.copy_to) {
      std::memcpy(row.append.copy_to->memory.get(), row.append.copy_from->memory.get(),
                  work.layout.bytes());
    }
    const int tasks = (row.append.length + tokens_at_once - 1) / tokens_at_once;
    for_each_task(tasks, tasks > 1, [&](std::size_t task) {
      const int first = static_cast<int>(task) * tokens_at_once;
      prepare_tokens(work, row, memory, first, std::min(first + tokens_at_once, row.append.length),
                     queries);
    });
  }
}

}  // namespace hearth::kernels
