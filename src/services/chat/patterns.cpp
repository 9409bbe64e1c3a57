#include "services/chat/patterns.h"

#include <algorithm>

namespace hearth::services {

void Patterns::add(std::string_view text, int kind) {
  patterns_.push_back({std::string(text), kind});
}

std::optional<Patterns::Match> Patterns::first(std::string_view text) const {
  std::optional<Match> best;
  for (const auto& [pattern, kind] : patterns_) {
    const auto begin = text.find(pattern);
    if (begin == text.npos) continue;
    const auto end = begin + pattern.size();
    if (!best || end < best->end || (end == best->end && begin < best->begin)) {
      best = Match{begin, end, kind, pattern};
    }
  }
  return best;
}

std::size_t Patterns::held_back(std::string_view text) const {
  std::size_t longest = 0;
  for (const auto& [pattern, kind] : patterns_) {
    for (std::size_t n = std::min(pattern.size() - 1, text.size()); n > longest; --n) {
      if (text.ends_with(std::string_view(pattern).substr(0, n))) longest = n;
    }
  }
  return longest;
}

std::optional<Patterns::Match> Patterns::at_start(std::string_view text) const {
  std::optional<Match> best;
  for (const auto& [pattern, kind] : patterns_) {
    if (text.starts_with(pattern) && (!best || pattern.size() > best->end)) {
      best = Match{0, pattern.size(), kind, pattern};
    }
  }
  return best;
}

bool Patterns::may_start(std::string_view text) const {
  return std::ranges::any_of(patterns_, [&](const Pattern& p) {
    return p.text.size() > text.size() && p.text.starts_with(text);
  });
}

}  // namespace hearth::services
