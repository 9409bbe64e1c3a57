// Which checkpoint a request goes on from.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/log.h"
#include "engine/checkpoints.h"

namespace hearth::engine {
namespace {

/// Every field, so that one that is added does not compile until it is told here.
std::string sampling_text(const Sampling& sampling) {
  const auto& [temperature, top_p, top_k, min_p, min_tokens_to_keep, xtc_probability, xtc_threshold,
               xtc_exempt, repetition_penalty, repetition_context_size, presence_penalty,
               presence_context_size, frequency_penalty, frequency_context_size, logit_bias, seed,
               top_logprobs] = sampling;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", temperature, top_p,
                     top_k, min_p, min_tokens_to_keep, xtc_probability, xtc_threshold, xtc_exempt,
                     repetition_penalty, repetition_context_size, presence_penalty,
                     presence_context_size, frequency_penalty, frequency_context_size, logit_bias,
                     seed ? fmt::format("{}", *seed) : "fresh", top_logprobs);
}

bool can_be_kept(const GenerateRequest& request) {
  const bool holds_mask = !request.mask || request.mask_anew;
  return holds_mask && !request.score_prompt && request.sampling.top_logprobs < 0;
}

/// Whether the answer may be what the checkpoint says, as far as its tokens tell.
bool goes_with(const Checkpoint& checkpoint, const GenerateRequest& request, int token_limit,
               int vocab_size) {
  const auto is_fine = [&](TokenId id) {
    return id >= 0 && id < vocab_size && !request.stop_ids.contains(id);
  };
  return int(checkpoint.tokens.size()) < token_limit &&
         std::ranges::all_of(checkpoint.tokens, is_fine);
}

/// @return whether the mask takes the tokens and allows more
bool takes(TokenMask& mask, std::span<const TokenId> tokens) {
  for (const TokenId id : tokens) {
    if (mask.complete() || !mask.accept(id)) return false;
  }
  return !mask.complete();
}

}  // namespace

BlockKey answer_id(const std::string& space, const GenerateRequest& request) {
  const auto max_tokens = request.max_tokens ? fmt::format("{}", *request.max_tokens) : "no end";
  const auto text = fmt::format("answer\n{}\n{}\n{}\n{}\n{}\n{}\n{}", space, request.cache_scope,
                                request.answer_scope, request.choice,
                                sampling_text(request.sampling), max_tokens, request.stop_ids);
  return child_key(root_key(text), request.prompt);
}

Result<std::shared_ptr<Checkpoints::Claim>> claim_answer(Checkpoints& checkpoints,
                                                         const std::string& space,
                                                         GenerateRequest& request, int token_limit,
                                                         int vocab_size) {
  if (!can_be_kept(request)) return nullptr;
  auto claim = checkpoints.claim(answer_id(space, request));
  if (!claim || !claim->found()) return claim;
  const auto& found = *claim->found();
  bool sound = goes_with(found, request, token_limit, vocab_size);
  if (sound && request.mask && !takes(*request.mask, found.tokens)) {
    sound = false;
    auto mask = request.mask_anew();
    if (!mask) return fail(mask.error());
    request.mask = std::move(*mask);
  }
  if (!sound) {
    log::warn("a checkpoint does not go with its request; the answer is computed anew");
    claim->discard();
  }
  return claim;
}

}  // namespace hearth::engine
