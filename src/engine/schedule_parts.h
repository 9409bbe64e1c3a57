// What random mixes of rows are made of: requests, and rows that are compared with what the same
// request gives alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "engine/engine.h"

namespace hearth::engine {

using Random = std::mt19937;

inline int below(Random& random, int end) { return int(random() % unsigned(end)); }

/// Leaves every third token, another third after each token.
class Thirds final : public TokenMask {
 public:
  explicit Thirds(int vocabulary) : words_(std::size_t(vocabulary + 31) / 32) {}
  Result<MaskWords> compute() override {
    for (std::size_t i = 0; i < words_.size() * 32; ++i) {
      const auto bit = std::uint32_t{1} << (i % 32);
      words_[i / 32] = i % 3 == turn_ ? words_[i / 32] | bit : words_[i / 32] & ~bit;
    }
    return MaskWords(words_);
  }
  Result<void> accept(TokenId id) override {
    turn_ = std::size_t(id + 1) % 3;
    return {};
  }
  bool complete() const override { return false; }

 private:
  std::vector<std::uint32_t> words_;
  std::size_t turn_ = 0;
};

inline bool same(const Sampled& a, const Sampled& b) {
  const bool none = std::isnan(a.logprob) && std::isnan(b.logprob);  // a prompt's first token
  return a.id == b.id && (none || a.logprob == b.logprob) && a.top == b.top;
}

/// A request that can be made as often as needed, and what it gives alone.
struct MixPart {
  GenerateRequest request;
  int follows = -1;  // the part whose prompt and answer come before this prompt; -1: none
  bool masked = false;
  std::vector<Sampled> alone, scored_alone;

  GenerateRequest make(int vocabulary) const {
    auto out = request;
    if (masked) out.mask = std::make_shared<Thirds>(vocabulary);
    return out;
  }
};

/// A row of a mix.
struct RunningRow {
  const MixPart* part;
  std::shared_ptr<TokenStream> stream;
  std::vector<Sampled> given, scored;
  bool left = false;  // its client cancelled it
  std::optional<Finish> finish;

  void read_one() {
    if (finish) return;
    auto item = stream->pop();
    if (auto* end = std::get_if<Finish>(&item)) finish = std::move(*end);
    if (auto* prompt = std::get_if<ScoredPrompt>(&item)) scored = std::move(prompt->tokens);
    if (auto* token = std::get_if<Sampled>(&item)) given.push_back(std::move(*token));
  }

  void read_all() {
    while (!finish) read_one();
  }

  void leave() {
    left = true;
    stream->cancel();
  }

  bool whole() const { return finish->reason != FinishReason::cancelled; }

  /// Whether it got what it gets alone, up to where it was cancelled.
  bool right() const {
    if (finish->reason == FinishReason::error || (!whole() && !left)) return false;
    const auto begins = [&](const auto& mine, const auto& alone) {
      return mine.size() <= alone.size() && (!whole() || mine.size() == alone.size()) &&
             std::equal(mine.begin(), mine.end(), alone.begin(), same);
    };
    return begins(given, part->alone) && begins(scored, part->scored_alone);
  }
};

inline Sampling random_sampling(Random& random) {
  Sampling s{.temperature = below(random, 3) == 0 ? 0.0f : 0.5f + 0.1f * float(below(random, 10))};
  s.seed = random();
  if (below(random, 4) == 0) s.top_p = 0.8f;
  if (below(random, 4) == 0) s.top_k = 1 + below(random, 20);
  if (below(random, 4) == 0) s.min_p = 0.05f;
  if (below(random, 4) == 0) s.repetition_penalty = 1.2f;
  if (below(random, 4) == 0) s.frequency_penalty = 0.5f;
  if (below(random, 4) == 0) s.logit_bias = {{3, 2.0f}};
  if (below(random, 3) == 0) s.top_logprobs = below(random, 4);
  return s;
}

constexpr int longest_part = 512;  // tokens of prompt and answer are fewer

/// Half of them begin alike, as forks of a conversation do; half are the second and third turns of
/// those before them.
inline std::vector<MixPart> random_parts(int count, int vocabulary) {
  Random random(20261130);
  std::vector<TokenId> common(192);
  for (auto& id : common) id = below(random, vocabulary);
  std::vector<MixPart> parts;
  for (int i = 0; i < count; ++i) {
    MixPart part;
    auto& request = part.request;
    const int turn = i % 4 % 3;  // 0, 1, 2, 0
    if (turn > 0) part.follows = i - 1;
    if (i % 4 == 0) request.prompt.assign(common.begin(), common.begin() + 32 * below(random, 7));
    for (int more = 1 + below(random, i % 5 == 0 ? 70 : 20); more > 0; --more) {
      request.prompt.push_back(below(random, vocabulary));
    }
    request.sampling = random_sampling(random);
    request.max_tokens = 1 + below(random, 24);
    request.score_prompt = below(random, 8) == 0;
    if (below(random, 4) == 0) request.stop_ids = {below(random, vocabulary)};
    if (below(random, 3) == 0) request.session = std::string(1, char('a' + below(random, 3)));
    part.masked = below(random, 5) == 0;
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace hearth::engine
