// The attention node: checks what it is given, reserves the rows' pages, and runs once.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tensor/kernels/attend_work.h"
#include "tensor/kernels/node.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

/// Inputs: q, k, v or all in one; then the norms there are; then what the rows wait for.
/// Outputs: the attention, and a token that the rows' next node waits for.
class Attend final : public Node {
 public:
  Attend(AttendWork work, bool together) : work_(std::move(work)), together_(together) {}
  const char* name() const override { return "hearth::kernels::Attend"; }

  void eval_cpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    AttendMemory memory = together_ ? from_one(inputs[0]) : from_three(inputs);
    std::size_t next = together_ || work_.again ? 1 : 3;
    if (work_.options.q_norm) memory.q_norm = row_order(inputs[next++]);
    if (work_.options.k_norm) memory.k_norm = row_order(inputs[next++]);
    if (work_.options.sinks) memory.sinks = row_order(inputs[next++]);
    memory.out = allocate(outputs[0]);
    allocate(outputs[1])[0] = 0;
    // The work moves: a node runs once, and pages should go when it is done.
    dispatch([work = std::move(work_), memory] {
      struct Use;
      const std::size_t numbers =
          std::size_t{1} * work.tokens * work.options.heads * work.options.head_dim;
      auto* queries = reinterpret_cast<float*>(scratch<Use>(numbers * sizeof(float)));
      prepare(work, memory, queries);
      attend_rows(work, queries, memory.sinks, memory.out);
    });
  }

 private:
  std::size_t q_width() const {
    return std::size_t{1} * work_.options.heads * work_.options.head_dim;
  }
  std::size_t kv_width() const {
    return std::size_t{1} * work_.options.kv_heads * work_.options.head_dim;
  }

  AttendMemory from_one(const Array& qkv) {
    const float* data = row_order(qkv);
    const std::size_t stride = q_width() + 2 * kv_width();
    return {.q = {data, stride},
            .k = {data + q_width(), stride},
            .v = {data + q_width() + kv_width(), stride}};
  }

  AttendMemory from_three(const std::vector<Array>& inputs) {
    if (work_.again) return {.q = {row_order(inputs[0]), q_width()}, .k = {}, .v = {}};
    return {.q = {row_order(inputs[0]), q_width()},
            .k = {row_order(inputs[1]), kv_width()},
            .v = {row_order(inputs[2]), kv_width()}};
  }

  AttendWork work_;
  bool together_;
};

void check(const AttendOptions& o, std::span<const std::shared_ptr<PagedKv>> rows,
           std::span<const RowSlice> slices, int tokens) {
  const auto fail = [](std::string message) { throw std::invalid_argument("attend: " + message); };
  if (o.kv_heads < 1 || o.heads % std::max(1, o.kv_heads) != 0 || o.head_dim < 1) {
    fail(fmt::format("{} heads over {} kv heads of {}", o.heads, o.kv_heads, o.head_dim));
  }
  if (o.rope.dims > o.head_dim || o.rope.dims % 2 != 0 ||
      o.rope.inv_freq.size() < static_cast<std::size_t>(o.rope.dims / 2)) {
    fail(fmt::format("rotation of {} dims by {} frequencies in heads of {}", o.rope.dims,
                     o.rope.inv_freq.size(), o.head_dim));
  }
  if (rows.empty() || rows.size() != slices.size()) {
    fail(fmt::format("{} rows for {} slices", rows.size(), slices.size()));
  }
  int sum = 0;
  for (const auto& slice : slices) {
    if (slice.start < 0 || slice.length < 0 || slice.start + slice.length > tokens) {
      fail(fmt::format("a slice of {} tokens from {} in a step of {}", slice.length, slice.start,
                       tokens));
    }
    sum += slice.length;
  }
  if (sum != tokens) fail(fmt::format("slices of {} tokens in a step of {}", sum, tokens));
  const auto& first = AttentionAccess::impl(*rows[0]);
  for (const auto& row : rows) {
    const auto& kv = AttentionAccess::impl(*row);
    if (kv.layout.kv_heads != o.kv_heads || kv.layout.head_dim != o.head_dim ||
        kv.window != first.window) {
      fail(fmt::format("pages for {} heads of {} with window {}, expected {} of {} with {}",
                       kv.layout.kv_heads, kv.layout.head_dim, kv.window, o.kv_heads, o.head_dim,
                       first.window));
    }
  }
}

void check_norm(const std::optional<Array>& norm, const AttendOptions& o, const char* what) {
  if (!norm) return;
  require_float32(*norm, what);
  if (norm->size() != static_cast<std::size_t>(o.head_dim)) {
    throw std::invalid_argument(
        fmt::format("{} has {} numbers, expected {}", what, norm->size(), o.head_dim));
  }
}

/// Reserves room in the rows' pages.
std::vector<RowWork> append_all(std::span<const std::shared_ptr<PagedKv>> rows,
                                std::span<const RowSlice> slices, bool again) {
  std::vector<RowWork> work;
  int base = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& kv = AttentionAccess::impl(*rows[i]);
    const int length = slices[i].length;
    work.push_back(
        {.append = again ? Append{kv.offset - length, length, kv.table, {}, {}} : kv.append(length),
         .flat_start = slices[i].start,
         .base = base});
    base += slices[i].length;
  }
  return work;
}

std::shared_ptr<const RopeAngles> angles_of(const RopeTable& rope,
                                            const std::vector<RowWork>& rows) {
  if (rope.dims == 0) return nullptr;
  std::vector<Run> runs;
  for (const auto& row : rows) runs.push_back({row.append.start, row.append.length});
  return rope_angles(rope, runs);
}

/// The node must come after the rows' last one.
void wait_for_rows(std::span<const std::shared_ptr<PagedKv>> rows, std::vector<Array>& inputs) {
  std::vector<std::uintptr_t> known;
  for (const auto& row : rows) {
    const auto& pending = AttentionAccess::impl(*row).pending;
    if (!pending || pending->is_available()) continue;
    if (std::ranges::find(known, pending->id()) != known.end()) continue;
    known.push_back(pending->id());
    inputs.push_back(*pending);
  }
}

Array build(std::vector<Array> inputs, int tokens, std::span<const std::shared_ptr<PagedKv>> rows,
            std::span<const RowSlice> slices, const AttendOptions& options, bool again = false) {
  const bool together = inputs.size() == 1 && !again;
  check(options, rows, slices, tokens);
  check_norm(options.q_norm, options, "attend: q_norm");
  check_norm(options.k_norm, options, "attend: k_norm");
  if (options.sinks && options.sinks->size() != static_cast<std::size_t>(options.heads)) {
    throw std::invalid_argument(fmt::format("attend: sinks has {} numbers, expected {}",
                                            options.sinks->size(), options.heads));
  }
  if (options.q_norm) inputs.push_back(*options.q_norm);
  if (options.k_norm) inputs.push_back(*options.k_norm);
  if (options.sinks) inputs.push_back(*options.sinks);
  wait_for_rows(rows, inputs);
  const auto& kv = AttentionAccess::impl(*rows[0]);
  auto appended = append_all(rows, slices, again);
  auto angles = angles_of(options.rope, appended);
  AttendWork work{.options = options,
                  .layout = kv.layout,
                  .window = kv.window,
                  .rows = std::move(appended),
                  .angles = std::move(angles),
                  .tokens = tokens,
                  .again = again};
  auto outputs = Array::make_arrays({{tokens, options.heads * options.head_dim}, {1}},
                                    {mx::float32, mx::float32},
                                    std::make_shared<Attend>(std::move(work), together), inputs);
  for (const auto& row : rows) AttentionAccess::impl(*row).pending = outputs[1];
  return outputs[0];
}

/// @return tokens in x, whose rows have `width` numbers
int tokens_in(const Array& x, int width, const char* what) {
  require_float32(x, what);
  if (width > 0 && x.size() % width == 0) return static_cast<int>(x.size() / width);
  throw std::invalid_argument(
      fmt::format("{} has {} numbers, not whole rows of {}", what, x.size(), width));
}

}  // namespace

Array attend(const Array& q, const Array& k, const Array& v,
             std::span<const std::shared_ptr<PagedKv>> rows, std::span<const RowSlice> slices,
             const AttendOptions& options) {
  const int tokens = tokens_in(q, options.heads * options.head_dim, "attend: q");
  const int kv_width = options.kv_heads * options.head_dim;
  if (tokens_in(k, kv_width, "attend: k") != tokens ||
      tokens_in(v, kv_width, "attend: v") != tokens) {
    throw std::invalid_argument(
        fmt::format("attend: k has {} numbers and v {} for {} tokens", k.size(), v.size(), tokens));
  }
  return build({q, k, v}, tokens, rows, slices, options);
}

Array attend(const Array& qkv, std::span<const std::shared_ptr<PagedKv>> rows,
             std::span<const RowSlice> slices, const AttendOptions& options) {
  const int width = (options.heads + 2 * options.kv_heads) * options.head_dim;
  return build({qkv}, tokens_in(qkv, width, "attend: qkv"), rows, slices, options);
}

Array attend_again(const Array& q, std::span<const std::shared_ptr<PagedKv>> rows,
                   std::span<const RowSlice> slices, const AttendOptions& options) {
  const int tokens = tokens_in(q, options.heads * options.head_dim, "attend_again: q");
  return build({q}, tokens, rows, slices, options, /*again=*/true);
}

}  // namespace hearth::kernels
