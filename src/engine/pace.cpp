#include "engine/pace.h"

#include <algorithm>

namespace hearth::engine {
namespace {

constexpr double weight_of_newest = 0.5;

}  // namespace

int Pace::budget(bool waited_for) const {
  if (!waited_for) return most_;
  const double tokens = token_seconds_ > 0 ? bound_seconds / token_seconds_ : first_tokens;
  if (tokens >= most_) return most_;
  return std::min(most_, std::max(least_tokens, int(tokens)));
}

void Pace::took(int tokens, double seconds) {
  if (tokens < least_tokens) return;
  const double newest = seconds / tokens;
  token_seconds_ =
      token_seconds_ > 0 ? token_seconds_ + weight_of_newest * (newest - token_seconds_) : newest;
}

}  // namespace hearth::engine
