#include "engine/sequence.h"

#include <algorithm>

namespace hearth::engine {

std::optional<FinishReason> finish_after(const Sequence& sequence, TokenId id) {
  if (sequence.request.stop_ids.contains(id)) return FinishReason::stop;
  if (sequence.request.mask && sequence.request.mask->complete()) return FinishReason::stop;
  if (sequence.generated >= sequence.token_limit) return FinishReason::length;
  return std::nullopt;
}

Usage usage_of(const Sequence& s, Sequence::Clock::time_point now) {
  using Seconds = std::chrono::duration<double>;
  Usage usage{.prompt_tokens = s.prompt_tokens(),
              .cached_tokens = std::min(s.blocks.taken, s.prompt_tokens()),
              .completion_tokens = s.generated,
              .queue_seconds = Seconds(s.admitted - s.submitted).count()};
  if (s.generated > 0) {
    usage.prefill_seconds = Seconds(s.first_token - s.admitted).count();
    usage.decode_seconds = Seconds(now - s.first_token).count();
  }
  return usage;
}

}  // namespace hearth::engine
