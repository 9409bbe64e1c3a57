// Which rows run in the next forward pass, and how many tokens each brings.
// Plain arithmetic: no arrays, no clock, no locks, so its tests need no model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::engine {

struct Candidate {
  std::uint64_t id;
  int pending_tokens;  // prompt tokens still to prefill; 1 when decoding
  bool decoding;
};

struct Row {
  std::uint64_t id;
  int tokens;
  bool operator==(const Row&) const = default;
};

/// Plans one step of the fast tier. Decoding rows come first, one token each, so that a long prompt
/// never stalls a stream; prompts share what is left, in arrival order.
///
/// @param candidates  in arrival order, each with pending_tokens > 0
/// @param budget      most tokens one forward pass may carry, > 0
/// @return            rows in batch order; their tokens sum to at most `budget`
std::vector<Row> plan_step(std::span<const Candidate> candidates, int budget);

/// Plans one step of tier l1, where each row runs its own forward with the chunks mlx-lm would
/// take: every decoding row, then the oldest prompt's next chunk. A prompt is drained to its last
/// token in chunks, and that token runs alone. Source: mlx-lm generate.py, generate_step.
///
/// @param chunk  most prompt tokens of one forward, > 0
std::vector<Row> plan_l1_step(std::span<const Candidate> candidates, int chunk);

}  // namespace hearth::engine
