// What the engine's tests share: prompts of a seed, and whole answers.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/engine.h"
#include "engine/tiny_model.h"

namespace hearth::engine {

/// What one request gave.
struct Answer {
  std::vector<TokenId> ids;
  std::vector<Sampled> sampled;
  Finish finish;
};

inline Answer read(TokenStream& stream) {
  Answer answer;
  for (;;) {
    auto item = stream.pop();
    if (auto* finish = std::get_if<Finish>(&item)) {
      answer.finish = std::move(*finish);
      return answer;
    }
    if (auto* sampled = std::get_if<Sampled>(&item)) {
      answer.ids.push_back(sampled->id);
      answer.sampled.push_back(std::move(*sampled));
    }
  }
}

inline Answer run(Engine& engine, GenerateRequest request) {
  auto stream = engine.submit(std::move(request));
  if (!stream) throw std::runtime_error(stream.error().message);
  return read(**stream);
}

inline std::vector<TokenId> random_prompt(int length, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> prompt(length);
  for (auto& id : prompt) id = TokenId(random() % TinyModel::vocab_size);
  return prompt;
}

}  // namespace hearth::engine
