#include "engine/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace hearth::engine {
namespace {

constexpr int no_end = std::numeric_limits<int>::max();

/// Bytes in decimal GB, as the flags take them.
std::string gigabytes(std::size_t bytes) { return fmt::format("{:.3f} GB", double(bytes) / 1e9); }

tl::unexpected<Error> over_context(int prompt, int context) {
  return fail(ErrorCode::context_overflow,
              fmt::format("prompt is too long: {} tokens > {} maximum (the model's context is {}, "
                          "of which one must be left for the answer)",
                          prompt, context - 1, context));
}

tl::unexpected<Error> over_budget(int prompt, int budget, std::size_t bytes) {
  return fail(
      ErrorCode::context_overflow,
      fmt::format("prompt is too long: {} tokens > {} maximum (the server's --memory-budget "
                  "leaves room for {} tokens in all; this prompt's keys and values alone "
                  "take {})",
                  prompt, std::max(budget - 1, 0), budget, gigabytes(bytes)),
      "--memory-budget");
}

tl::unexpected<Error> over_kv_budget(std::size_t bytes, std::size_t budget) {
  return fail(ErrorCode::invalid_request,
              fmt::format("the prompt and max_tokens may come to {} of keys and values, but the "
                          "server's --kv-budget is {}: set a smaller max_tokens, or send less",
                          gigabytes(bytes), gigabytes(budget)),
              "max_tokens");
}

}  // namespace

std::size_t kv_bytes(std::span<const KvLayers> layers, std::size_t tokens) {
  std::size_t bytes = 0;
  for (const auto& l : layers) {
    bytes += l.token_bytes * (l.window > 0 ? std::min(tokens, std::size_t(l.window)) : tokens);
  }
  return bytes;
}

int safe_context(const MemoryPlan& plan) {
  const auto fits = [&](int tokens) {
    const auto step = std::size_t(std::min(plan.step_tokens, tokens));
    return plan.weights + kv_bytes(plan.layers, std::size_t(tokens)) + step * plan.transient <=
           plan.usable;
  };
  int most = plan.context > 0 ? plan.context : no_end;
  if (fits(most)) return most;
  int least = 0;  // fits, or nothing does
  while (most - least > 1) {
    const int middle = least + (most - least) / 2;
    (fits(middle) ? least : most) = middle;
  }
  return least;
}

Result<Grant> grant(int prompt, std::optional<int> max_tokens, const Limits& limits,
                    std::span<const KvLayers> layers) {
  int room = no_end - prompt;
  if (limits.context > 0) {
    if (prompt >= limits.context) return over_context(prompt, limits.context);
    room = limits.context - prompt;
  }
  if (limits.budget) {
    if (prompt >= *limits.budget) {
      return over_budget(prompt, *limits.budget, kv_bytes(layers, std::size_t(prompt)));
    }
    room = std::min(room, *limits.budget - prompt);
  }
  Grant out{.token_limit = std::min(room, max_tokens.value_or(room))};
  if (max_tokens || limits.context > 0 || limits.budget) {
    out.kv_bytes = kv_bytes(layers, std::size_t(prompt) + std::size_t(out.token_limit));
  }
  if (limits.kv_budget == 0) return out;
  if (!max_tokens) {
    return fail(ErrorCode::invalid_request,
                "max_tokens is missing: the server holds its requests to a --kv-budget, so each "
                "must say how long its answer may be",
                "max_tokens");
  }
  if (out.kv_bytes > limits.kv_budget) return over_kv_budget(out.kv_bytes, limits.kv_budget);
  return out;
}

}  // namespace hearth::engine
