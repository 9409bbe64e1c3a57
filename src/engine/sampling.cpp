#include "engine/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "engine/argmax.h"

namespace hearth::engine {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// The tokens a penalty looks at: the last `size` of the history, all of it for 0.
std::span<const TokenId> window(std::span<const TokenId> history, int size) {
  if (size <= 0 || std::size_t(size) >= history.size()) return history;
  return history.last(size);
}

using Round = float (*)(float);

float keep(float x) { return x; }

void add_bias(std::span<float> logits, const std::map<TokenId, float>& bias, Round round) {
  for (const auto& [id, value] : bias) logits[id] = round(logits[id] + round(value));
}

/// Each distinct token of a penalty's window.
std::set<TokenId> distinct(std::span<const TokenId> history, int size) {
  const auto seen = window(history, size);
  return {seen.begin(), seen.end()};
}

void penalise(std::span<float> logits, const Sampling& s, std::span<const TokenId> history,
              Round round) {
  if (const float p = round(s.repetition_penalty); p != 0 && p != 1) {
    for (const TokenId id : distinct(history, s.repetition_context_size)) {
      float& x = logits[id];
      x = round(x < 0 ? x * p : x / p);
    }
  }
  if (const float p = round(s.presence_penalty); p != 0) {
    for (const TokenId id : distinct(history, s.presence_context_size)) {
      logits[id] = round(logits[id] - p);
    }
  }
  if (const float p = round(s.frequency_penalty); p != 0) {
    for (const TokenId id : window(history, s.frequency_context_size)) {
      logits[id] = round(logits[id] - p);
    }
  }
}

/// Calls `visit` with each index below `size` that the mask leaves, in order.
template <class Visit>
void each_allowed(std::size_t size, MaskWords mask, const Visit& visit) {
  if (mask.empty()) {
    for (std::size_t i = 0; i < size; ++i) visit(i);
    return;
  }
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (std::uint32_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      const std::size_t i = word * 32 + std::countr_zero(bits);
      if (i < size) visit(i);
    }
  }
}

float log_sum_exp(std::span<const float> x, float highest) {
  float sum = 0;
  for (const float value : x) sum += std::exp(value - highest);
  return highest + std::log(sum);
}

/// The k largest, likeliest first, lower ids first among equals.
std::vector<TokenLogprob> likeliest(std::span<const float> logprobs, int k) {
  std::vector<TokenLogprob> all(logprobs.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {TokenId(i), logprobs[i]};
  k = std::min<int>(k, int(all.size()));
  std::partial_sort(all.begin(), all.begin() + k, all.end(), [](const auto& a, const auto& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
  });
  return {all.begin(), all.begin() + k};  // resized, each token would keep the vocabulary's memory
}

using Candidates = std::vector<TokenLogprob>;

/// Every token that is not ruled out, in order of id.
Candidates all_candidates(std::span<const float> logprobs, MaskWords mask) {
  Candidates out;
  if (mask.empty()) out.reserve(logprobs.size());
  each_allowed(logprobs.size(), mask, [&](std::size_t i) {
    if (logprobs[i] > minus_infinity) out.push_back({TokenId(i), logprobs[i]});
  });
  return out;
}

/// Takes the highest value off all, so that their exponentials are in range.
void shift_below_zero(Candidates& candidates) {
  const float highest = std::ranges::max_element(candidates, {}, &TokenLogprob::logprob)->logprob;
  for (auto& c : candidates) c.logprob -= highest;
}

/// mlx-lm apply_top_p: keeps a token while the mass above it is below p of the whole; ties with the
/// last one kept stay.
void keep_top_p(Candidates& candidates, float top_p) {
  double total = 0;
  for (const auto& c : candidates) total += std::exp(double(c.logprob));
  std::vector<float> sorted;
  for (const auto& c : candidates) sorted.push_back(c.logprob);
  float threshold = minus_infinity;
  double mass = 0;
  // Sorts the likeliest few first and goes on only while their mass is too small.
  for (std::size_t done = 0, part = 256; done < sorted.size(); done += part, part *= 4) {
    part = std::min(part, sorted.size() - done);
    std::partial_sort(sorted.begin() + done, sorted.begin() + done + part, sorted.end(),
                      std::greater<>());
    bool enough = false;
    for (std::size_t i = done; i < done + part && !enough; ++i) {
      if (mass >= top_p * total) {
        enough = true;
      } else {
        threshold = sorted[i];
        mass += std::exp(double(sorted[i]));
      }
    }
    if (enough) break;
  }
  std::erase_if(candidates, [&](const auto& c) { return c.logprob < threshold; });
}

/// mlx-lm apply_min_p.
void keep_min_p(Candidates& candidates, float min_p, int at_least) {
  const auto highest = std::ranges::max_element(candidates, {}, &TokenLogprob::logprob)->logprob;
  const float threshold = highest + std::log(min_p);
  float kept = highest;
  if (at_least > 1) {
    std::vector<float> sorted;
    for (const auto& c : candidates) sorted.push_back(c.logprob);
    const auto nth = sorted.begin() + std::min<std::size_t>(at_least, sorted.size()) - 1;
    std::nth_element(sorted.begin(), nth, sorted.end(), std::greater<>());
    kept = *nth;
  }
  std::erase_if(candidates,
                [&](const auto& c) { return c.logprob < threshold && c.logprob < kept; });
}

/// mlx-lm apply_xtc: with probability q every token likelier than the least one above the threshold
/// is dropped, but for the exempt ones.
void exclude_top_choices(Candidates& candidates, const Sampling& s, float uniform) {
  if (uniform > s.xtc_probability) return;
  double total = 0;
  for (const auto& c : candidates) total += std::exp(double(c.logprob));
  float least = std::numeric_limits<float>::infinity();
  const auto p = [&](const TokenLogprob& c) { return float(std::exp(double(c.logprob)) / total); };
  for (const auto& c : candidates) {
    if (p(c) > s.xtc_threshold) least = std::min(least, p(c));
  }
  std::erase_if(candidates,
                [&](const auto& c) { return p(c) > least && !s.xtc_exempt.contains(c.id); });
}

void keep_top_k(Candidates& candidates, int k) {
  if (std::size_t(k) >= candidates.size()) return;
  std::nth_element(candidates.begin(), candidates.begin() + k, candidates.end(),
                   [](const auto& a, const auto& b) {
                     return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
                   });
  candidates.resize(k);
  std::ranges::sort(candidates, {}, &TokenLogprob::id);  // the draw walks in order of id
}

/// splitmix64: one well-mixed word a key. Source: Steele, Lea, Flood, OOPSLA 2014.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// A number in [0, 1) for draw `lane` of a step: the same whatever else is being sampled.
double uniform(std::uint64_t seed, std::uint64_t step, std::uint64_t lane) {
  const std::uint64_t key = mix(seed ^ ((step + 1) * 0x9E3779B97F4A7C15ull));
  return double(mix(key + lane) >> 11) * 0x1.0p-53;
}

/// A token with probability proportional to exp(logprob / temperature).
TokenId draw(const Candidates& candidates, float temperature, double u) {
  const float highest = std::ranges::max_element(candidates, {}, &TokenLogprob::logprob)->logprob;
  std::vector<float> weights(candidates.size());
  double total = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    weights[i] = std::exp((candidates[i].logprob - highest) / temperature);
    total += weights[i];
  }
  double left = u * total;
  TokenId last = candidates.front().id;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (weights[i] == 0) continue;
    last = candidates[i].id;
    left -= weights[i];
    if (left < 0) break;
  }
  return last;
}

TokenId choose(std::span<const float> logprobs, const Sampling& s, std::uint64_t seed,
               std::uint64_t step, MaskWords mask) {
  Candidates candidates = all_candidates(logprobs, mask);
  if (!mask.empty()) shift_below_zero(candidates);
  if (s.top_p > 0 && s.top_p < 1) keep_top_p(candidates, s.top_p);
  if (s.min_p > 0) keep_min_p(candidates, s.min_p, s.min_tokens_to_keep);
  if (s.xtc_probability > 0) exclude_top_choices(candidates, s, float(uniform(seed, step, 0)));
  if (s.top_k > 0) keep_top_k(candidates, s.top_k);
  return draw(candidates, s.temperature, uniform(seed, step, 1));
}

Result<void> in_range(const char* field, double value, double least, double most) {
  if (std::isfinite(value) && value >= least && value <= most) return {};
  const auto range = std::isinf(most) ? fmt::format("a finite number of at least {}", least)
                                      : fmt::format("a number from {} to {}", least, most);
  return fail(ErrorCode::invalid_request, fmt::format("{} is {}, expected {}", field, value, range),
              field);
}

}  // namespace

Result<void> validate(const Sampling& s, int vocab_size) {
  constexpr double any = std::numeric_limits<double>::infinity();
  const Result<void> checks[] = {
      in_range("temperature", s.temperature, 0, any),
      in_range("top_p", s.top_p, 0, 1),
      in_range("top_k", s.top_k, 0, 1 << 20),
      in_range("min_p", s.min_p, 0, 1),
      in_range("min_tokens_to_keep", s.min_tokens_to_keep, 1, 1 << 20),
      in_range("xtc_probability", s.xtc_probability, 0, 1),
      in_range("xtc_threshold", s.xtc_threshold, 0, 0.5),
      in_range("repetition_penalty", s.repetition_penalty, 0, any),
      in_range("repetition_context_size", s.repetition_context_size, 0, 1 << 30),
      in_range("presence_penalty", s.presence_penalty, -1e6, 1e6),
      in_range("presence_context_size", s.presence_context_size, 0, 1 << 30),
      in_range("frequency_penalty", s.frequency_penalty, -1e6, 1e6),
      in_range("frequency_context_size", s.frequency_context_size, 0, 1 << 30),
      in_range("top_logprobs", s.top_logprobs, -1, 20),
  };
  for (const auto& check : checks) {
    if (!check) return check;
  }
  for (const auto& [id, value] : s.logit_bias) {
    if (id < 0 || id >= vocab_size) {
      return fail(
          ErrorCode::invalid_request,
          fmt::format("logit_bias names token {}, expected an id from 0 to {}", id, vocab_size - 1),
          "logit_bias");
    }
    if (!std::isfinite(value)) {
      return fail(ErrorCode::invalid_request, "logit_bias values must be finite", "logit_bias");
    }
  }
  return {};
}

void process_logits(std::span<float> logits, const Sampling& sampling,
                    std::span<const TokenId> history, Round round) {
  add_bias(logits, sampling.logit_bias, round ? round : keep);
  penalise(logits, sampling, history, round ? round : keep);
}

Sampled sample_logprobs(std::span<const float> logprobs, const Sampling& s, std::uint64_t seed,
                        std::uint64_t step, MaskWords mask) {
  Sampled out{.id = argmax(logprobs, mask)};
  if (out.id < 0 || !std::isfinite(logprobs[out.id])) return {.id = -1};
  if (s.temperature != 0) out.id = choose(logprobs, s, seed, step, mask);
  if (s.top_logprobs >= 0) out.logprob = logprobs[out.id];
  if (s.top_logprobs > 0) out.top = likeliest(logprobs, s.top_logprobs);
  return out;
}

Sampled score_logprobs(std::span<const float> logprobs, TokenId id, int top_logprobs) {
  Sampled out{.id = id, .logprob = logprobs[id]};
  if (top_logprobs > 0) out.top = likeliest(logprobs, top_logprobs);
  return out;
}

bool normalise(std::span<float> logits) {
  const TokenId likeliest = argmax(logits, {});
  if (likeliest < 0 || !std::isfinite(logits[likeliest])) return false;
  const float normaliser = log_sum_exp(logits, logits[likeliest]);
  if (std::isnan(normaliser)) return false;
  for (float& x : logits) x -= normaliser;
  return true;
}

Sampled sample_token(std::span<float> logits, const Sampling& s, std::span<const TokenId> history,
                     std::uint64_t seed, std::uint64_t step, MaskWords mask) {
  process_logits(logits, s, history);
  // What is left of a mask needs no normaliser of the whole vocabulary unless it is told.
  if (s.top_logprobs < 0 && (s.temperature == 0 || !mask.empty())) {
    return sample_logprobs(logits, s, seed, step, mask);
  }
  if (!normalise(logits)) return {.id = -1};
  return sample_logprobs(logits, s, seed, step, mask);
}

}  // namespace hearth::engine
