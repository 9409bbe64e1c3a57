#include "engine/row_sampler.h"

#include <limits>

#include "engine/runner.h"

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

/// As float32 in row order, evaluated.
tensor::Array widened(const tensor::Array& logits) {
  auto wide = mx::contiguous(mx::astype(logits, mx::float32));
  mx::eval(wide);
  return wide;
}

std::span<float> values_of(tensor::Array& logits) { return {logits.data<float>(), logits.size()}; }

Sampled score(const Sequence& row, const tensor::Array& logits, TokenId id, Tier tier) {
  const int rivals = row.request.sampling.top_logprobs;
  if (tier == Tier::l1) {
    const auto logprobs = l1_logprobs(logits);
    return score_logprobs({logprobs.data<float>(), logprobs.size()}, id, rivals);
  }
  auto wide = widened(logits);
  normalise(values_of(wide));
  return score_logprobs(values_of(wide), id, rivals);
}

}  // namespace

Sampled sample_next(const Sequence& row, const tensor::Array& logits, MaskWords mask, Tier tier) {
  auto wide = widened(logits);
  const auto& sampling = row.request.sampling;
  if (tier == Tier::fast) {
    return sample_token(values_of(wide), sampling, row.tokens, row.seed, row.generated, mask);
  }
  process_logits(values_of(wide), sampling, row.tokens, rounding_to(logits.dtype()));
  const auto logprobs = l1_logprobs(mx::astype(wide, logits.dtype()));
  return sample_logprobs({logprobs.data<float>(), logprobs.size()}, sampling, row.seed,
                         row.generated, mask);
}

void score_prompt(Sequence& row, std::span<const tensor::Array> logits, int from, Tier tier) {
  if (row.scores.empty()) {
    row.scores.push_back(
        {.id = row.tokens.front(), .logprob = std::numeric_limits<float>::quiet_NaN(), .top = {}});
  }
  for (const auto& one : logits) {
    if (++from == row.prompt_tokens()) break;
    row.scores.push_back(score(row, one, row.tokens[from], tier));
  }
  if (from == row.prompt_tokens()) row.stream->push(ScoredPrompt{std::move(row.scores)});
}

}  // namespace hearth::engine
