#include "services/chat/stop_strings.h"

#include <algorithm>
#include <utility>

namespace hearth::services {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

std::string StopStrings::push(std::string_view text) {
  if (matched_) return {};
  held_ += text;
  std::size_t best_end = std::string::npos, best_start = 0;
  for (const std::string& stop : strings_) {
    const auto start = held_.find(stop);
    if (start == std::string::npos) continue;
    const auto end = start + stop.size();
    if (end < best_end || (end == best_end && start < best_start)) {
      best_end = end;
      best_start = start;
      matched_ = stop;
    }
  }
  const std::size_t free = matched_ ? best_start : held_.size() - held_back();
  std::string out = held_.substr(0, free);
  held_.erase(0, matched_ ? held_.size() : free);
  return out;
}

std::string StopStrings::finish() { return matched_ ? std::string() : std::exchange(held_, {}); }

/// Bytes at the end of held_ that a stop string may begin with.
std::size_t StopStrings::held_back() const {
  std::size_t longest = 0;
  for (const std::string& stop : strings_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > longest; --n) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) longest = n;
    }
  }
  return longest;
}

}  // namespace hearth::services
