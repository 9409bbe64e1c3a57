// Who may run: what a request may take of context and memory, and whether it fits beside those that
// run already. Plain arithmetic: no arrays, no clock, no locks, so its tests need no model.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace hearth::engine {

/// Layers whose caches grow alike.
struct KvLayers {
  std::size_t token_bytes = 0;  // that a token adds to their keys and values together
  int window = 0;               // sliding attention keeps so many tokens; 0: all
  bool operator==(const KvLayers&) const = default;
};

/// Bytes of keys and values that a sequence of `tokens` tokens holds; windows are counted when
/// full.
std::size_t kv_bytes(std::span<const KvLayers> layers, std::size_t tokens);

/// What the caches beside the weights have room for.
struct MemoryPlan {
  std::size_t usable = 0;     // bytes
  std::size_t weights = 0;    // bytes
  std::size_t transient = 0;  // bytes that each token of a step takes while it is computed
  int step_tokens = 0;        // most tokens of a step
  int context = 0;            // the model's window; 0: unknown
  std::span<const KvLayers> layers;
};

/// The longest sequence that fits: weights + kv_bytes + transient of a step <= usable.
/// @return at most the model's window, where it is known; 0 when nothing fits
int safe_context(const MemoryPlan& plan);

/// What requests are held to.
struct Limits {
  int context = 0;            // tokens of prompt and answer; 0: no end
  std::optional<int> budget;  // the same, as --memory-budget leaves room for; none: no such budget
  std::size_t kv_budget = 0;  // bytes that all rows' keys and values may come to; 0: no end
};

/// What an admitted request may take.
struct Grant {
  int token_limit = 0;       // most tokens to deliver
  std::size_t kv_bytes = 0;  // of prompt and all these tokens; 0 where nothing ends the answer
};

/// Holds a request to the limits before it is queued.
///
/// @param prompt      tokens, at least one
/// @param max_tokens  that the request asks for; none: as many as there is room for
/// Errors: context_overflow, with both numbers, and the param "--memory-budget" where it is that
/// which leaves no room; invalid_request naming max_tokens, where the row could never run within
/// the KV budget or has no end that it could be measured by.
/// Source: server-api.md §11.4.
Result<Grant> grant(int prompt, std::optional<int> max_tokens, const Limits& limits,
                    std::span<const KvLayers> layers);

/// Whether a row may join those that hold `held` bytes of a KV budget. 0: no budget.
inline bool joins(std::size_t held, std::size_t wanted, std::size_t budget) {
  return budget == 0 || (wanted <= budget && held <= budget - wanted);
}

}  // namespace hearth::engine
