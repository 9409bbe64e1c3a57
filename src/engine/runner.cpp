#include "engine/runner.h"

namespace hearth::engine {

namespace mx = mlx::core;
using tensor::Array;

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

std::vector<Array> Runner::run(std::span<const RowWork> rows) const {
  if (shared_) return forward(rows);
  std::vector<Array> logits;
  for (const auto& row : rows) {
    for (auto& one : forward({&row, 1})) logits.push_back(std::move(one));
    if (row.tokens.size() > 1) mx::clear_cache();
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
