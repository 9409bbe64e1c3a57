// How the next token is chosen from a row's logits: processors, then the sampler, in mlx-lm's
// order. Plain values in, plain values out; no arrays, so its tests need no model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/token_mask.h"
#include "text/tokenizer.h"

namespace hearth::engine {

using text::TokenId;

/// One request's sampling settings. Source of every formula: mlx-lm sample_utils.py.
struct Sampling {
  float temperature = 0.7f;  // 0 picks the likeliest token
  float top_p = 0;           // active for 0 < top_p < 1
  int top_k = 0;             // 0: off
  float min_p = 0;           // [0, 1]; 0: off
  int min_tokens_to_keep = 1;
  float xtc_probability = 0;  // [0, 1]
  float xtc_threshold = 0;    // [0, 0.5]
  std::set<TokenId> xtc_exempt;
  float repetition_penalty = 0;      // 0 or 1: off
  int repetition_context_size = 20;  // 0: all history
  float presence_penalty = 0;
  int presence_context_size = 20;
  float frequency_penalty = 0;
  int frequency_context_size = 20;
  std::map<TokenId, float> logit_bias;
  std::optional<std::uint64_t> seed;  // none: fresh for each request
  int top_logprobs = -1;  // -1: no log-probabilities; 0: the chosen token's; k: its k rivals too

  bool operator==(const Sampling&) const = default;
};

/// Checks every range against the vocabulary. Error: invalid_request, naming field, value and
/// range.
Result<void> validate(const Sampling& sampling, int vocab_size);

struct TokenLogprob {
  TokenId id = -1;
  float logprob = 0;
  bool operator==(const TokenLogprob&) const = default;
};

struct Sampled {
  TokenId id = -1;
  float logprob = 0;              // of id, after the processors, before truncation and temperature
  std::vector<TokenLogprob> top;  // likeliest first; empty unless asked for
};

/// Bias and penalties, in place.
///
/// @param logits   [V] float32
/// @param history  prompt and generated tokens, oldest first
/// @param round    rounds a result to the dtype that mlx-lm would hold it in; null keeps float32
void process_logits(std::span<float> logits, const Sampling& sampling,
                    std::span<const TokenId> history, float (*round)(float) = nullptr);

/// Truncation, temperature and the draw.
///
/// @param logprobs  [V] float32, normalised over the vocabulary
/// @param seed      the request's; @param step counts the tokens sampled for this request
/// @param mask      what it leaves is drawn from; the log-probabilities told are those without it
/// @return          id -1 when no entry is a number
Sampled sample_logprobs(std::span<const float> logprobs, const Sampling& sampling,
                        std::uint64_t seed, std::uint64_t step, MaskWords mask = {});

/// What `logprobs` say of a token that is known already, with as many rivals as asked for.
Sampled score_logprobs(std::span<const float> logprobs, TokenId id, int top_logprobs);

/// Logits to log-probabilities, in place. @return false, with nothing changed, when they are none
bool normalise(std::span<float> logits);

/// process_logits, normalisation and sample_logprobs in float32: the fast tier's whole way from
/// logits to a token. `logits` are changed.
Sampled sample_token(std::span<float> logits, const Sampling& sampling,
                     std::span<const TokenId> history, std::uint64_t seed, std::uint64_t step,
                     MaskWords mask = {});

}  // namespace hearth::engine
