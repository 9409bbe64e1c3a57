#include "engine/plan.h"

#include <algorithm>

namespace hearth::engine {

std::vector<Row> plan_step(std::span<const Candidate> candidates, int budget) {
  std::vector<Row> rows;
  for (const auto& c : candidates) {
    if (!c.decoding || budget == 0) continue;
    rows.push_back({c.id, 1});
    --budget;
  }
  for (const auto& c : candidates) {
    if (c.decoding || budget == 0) continue;
    const int tokens = std::min(c.pending_tokens, budget);
    rows.push_back({c.id, tokens});
    budget -= tokens;
  }
  return rows;
}

std::vector<Row> plan_l1_step(std::span<const Candidate> candidates, int chunk) {
  std::vector<Row> rows;
  for (const auto& c : candidates) {
    if (c.decoding) rows.push_back({c.id, 1});
  }
  for (const auto& c : candidates) {
    if (c.decoding) continue;
    rows.push_back({c.id, std::min(chunk, std::max(c.pending_tokens - 1, 1))});
    break;
  }
  return rows;
}

}  // namespace hearth::engine
