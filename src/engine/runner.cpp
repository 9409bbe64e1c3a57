#include "engine/runner.h"

#include <algorithm>

#include "base/log.h"

namespace hearth::engine {

namespace mx = mlx::core;
using tensor::Array;

namespace {

void mark(std::span<const RowWork> rows) {
  for (const auto& row : rows) {
    for (const auto& cache : *row.cache) cache->mark();
  }
}

/// @return whether all caches are again what they were at mark()
bool roll_back(std::span<const RowWork> rows) {
  return std::ranges::all_of(rows, [](const RowWork& row) {
    return std::ranges::all_of(*row.cache, [](const auto& cache) { return cache->roll_back(); });
  });
}

/// The logits of a shared forward by row.
std::vector<RowLogits> by_row(std::span<const RowWork> rows, std::vector<Array> logits) {
  std::vector<RowLogits> out;
  auto next = std::make_move_iterator(logits.begin());
  for (const auto& row : rows) {
    out.emplace_back(std::vector<Array>(next, next + row.wanted));
    next += row.wanted;
  }
  return out;
}

}  // namespace

std::vector<Array> Runner::forward(std::span<const RowWork> rows) const {
  std::vector<TokenId> tokens;
  std::vector<tensor::RowSlice> slices;
  std::vector<tensor::SequenceCache*> caches;
  std::vector<int> picks;  // flat index of each token that logits are wanted of
  for (const auto& row : rows) {
    slices.push_back({int(tokens.size()), int(row.tokens.size())});
    tokens.insert(tokens.end(), row.tokens.begin(), row.tokens.end());
    caches.push_back(row.cache);
    for (int back = row.wanted; back > 0; --back) picks.push_back(int(tokens.size()) - back);
  }
  tensor::StepCache step(std::move(slices), std::move(caches));
  const int total = int(tokens.size());
  const auto hidden = model_.forward(Array(tokens.data(), {1, total}, mx::int32), step);

  auto pending = step.state();
  std::vector<Array> logits;
  if (picks.empty()) {
    // Caches in MLX arrays need no more than themselves; pages are written by the layers' own
    // nodes.
    if (pending.empty()) pending.push_back(hidden);
  } else {
    const int wanted = int(picks.size());
    const auto picked =
        wanted == total ? hidden : mx::take(hidden, Array(picks.data(), {wanted}, mx::int32), 1);
    const auto all = model_.logits(picked);  // [1, R, V]
    for (int i = 0; i < wanted; ++i) {
      logits.push_back(mx::contiguous(
          mx::reshape(mx::slice(all, {0, i, 0}, {1, i + 1, all.shape(2)}), {all.shape(2)})));
    }
    pending.insert(pending.end(), logits.begin(), logits.end());
  }
  mx::eval(pending);
  return logits;
}

RowLogits Runner::alone(const RowWork& row) const {
  try {
    return forward({&row, 1});
  } catch (const std::exception& e) {
    log::error("a row's step failed: {}", e.what());
    return tl::unexpected(std::string(e.what()));
  }
}

std::vector<RowLogits> Runner::together(std::span<const RowWork> rows) const {
  mark(rows);
  std::string words;
  try {
    return by_row(rows, forward(rows));
  } catch (const std::exception& e) {
    words = e.what();
  }
  mx::clear_cache();
  if (!roll_back(rows)) {
    log::error("a step of {} rows failed, and they with it: {}", rows.size(), words);
    return std::vector<RowLogits>(rows.size(), tl::unexpected(words));
  }
  log::warn("a step of {} rows failed and is run row by row: {}", rows.size(), words);
  std::vector<RowLogits> out;
  for (const auto& row : rows) out.push_back(alone(row));
  return out;
}

std::vector<RowLogits> Runner::run(std::span<const RowWork> rows) const {
  if (shared_ && rows.size() > 1) return together(rows);
  std::vector<RowLogits> logits;
  for (const auto& row : rows) {
    logits.push_back(alone(row));
    if (!shared_ && row.tokens.size() > 1) mx::clear_cache();
  }
  return logits;
}

Array l1_logprobs(const Array& logits) {
  auto logprobs =
      mx::contiguous(mx::astype(logits - mx::logsumexp(logits, /*keepdims=*/true), mx::float32));
  mx::eval(logprobs);
  return logprobs;
}

float (*rounding_to(mx::Dtype dtype))(float) {
  if (dtype == mx::bfloat16) return [](float x) { return float(mx::bfloat16_t(x)); };
  if (dtype == mx::float16) return [](float x) { return float(mx::float16_t(x)); };
  return nullptr;
}

}  // namespace hearth::engine
