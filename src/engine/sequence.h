// One request while the engine works on it. Belongs to the engine thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/checkpoints.h"
#include "engine/engine.h"
#include "engine/plan.h"
#include "engine/prompt_cache/row_blocks.h"
#include "tensor/cache/layer_cache.h"

namespace hearth::engine {

struct Sequence {
  using Clock = std::chrono::steady_clock;

  std::uint64_t id = 0;
  GenerateRequest request;
  std::shared_ptr<TokenStream> stream;
  std::uint64_t seed = 0;
  int token_limit = 0;           // most tokens to deliver: max_tokens, and what the context leaves
  std::size_t kv_projected = 0;  // bytes that its caches may come to; 0: not known
  tensor::SequenceCache cache;
  RowBlocks blocks;              // of the prompt cache
  bool waits_for_files = false;  // of the prompt cache, which are being read
  std::vector<TokenId> tokens;   // the prompt, then what was generated
  int forwarded = 0;             // of `tokens`, those whose keys and values are in the cache
  int generated = 0;
  int replayed = 0;                           // of `generated`, tokens of a checkpoint
  std::shared_ptr<Checkpoints::Claim> claim;  // on the answer's checkpoint; null: it is not kept
  std::vector<Sampled> scores;                // of the prompt's tokens, where they are asked for
  Clock::time_point submitted, admitted, first_token;

  int prompt_tokens() const { return int(request.prompt.size()); }
  /// What is there before a token is sampled: the prompt, and what a checkpoint had.
  int known_tokens() const { return prompt_tokens() + replayed; }
  std::span<const TokenId> answer() const { return std::span(tokens).subspan(prompt_tokens()); }
  bool decoding() const { return generated > replayed; }
  Candidate candidate() const { return {id, int(tokens.size()) - forwarded, decoding()}; }
  /// Whether a step that forwards `n` more tokens reaches the end of what is known.
  bool samples_after(int n) const { return forwarded + n == int(tokens.size()); }
  /// Most tokens that a step at tier l1 may bring: a prompt's last one and what was generated run
  /// alone, as they did the first time.
  int l1_step_limit() const { return std::max(prompt_tokens() - 1 - forwarded, 1); }
  /// Whether its prompt is under way and is to be scored.
  bool scores_prompt() const { return request.score_prompt && !decoding(); }
};

/// What ends a sequence after it sampled `id`; none: it goes on.
/// A stop id ends it undelivered; a complete mask and the limit end it with `id` delivered.
std::optional<FinishReason> finish_after(const Sequence& sequence, TokenId id);

/// Figures for Finish, as of now.
Usage usage_of(const Sequence& sequence, Sequence::Clock::time_point now);

}  // namespace hearth::engine
