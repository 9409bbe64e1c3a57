#include "services/chat/timings.h"

#include <cmath>

namespace hearth::services {
namespace {

/// To three places; null for nothing.
Json rounded(double value) { return value > 0 ? Json(std::round(value * 1000) / 1000) : Json(); }

double rate(int tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0; }

}  // namespace

Json timings(const Usage& usage) {
  const int prefilled = usage.prompt_tokens - usage.cached_tokens;
  return {{"queue_ms", std::round(usage.queue_seconds * 1e6) / 1000},
          {"ttft_ms", rounded(usage.first_token_seconds * 1000)},
          {"prefill_tps", rounded(rate(prefilled, usage.prefill_seconds))},
          {"decode_tps", rounded(rate(usage.decoded_tokens, usage.decode_seconds))}};
}

}  // namespace hearth::services
