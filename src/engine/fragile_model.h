// For tests: a model that some tokens are fatal to.
#pragma once

#include <new>

#include "engine/sampling.h"
#include "models/model.h"

namespace hearth::engine {

/// The token whose forward throws std::bad_alloc once the graph is built and the caches moved on.
inline constexpr TokenId no_memory = 7;

class Fragile final : public models::Model {
 public:
  explicit Fragile(const models::Model& model) : model_(model) {}

  tensor::Array forward(const tensor::Array& tokens, tensor::StepCache& cache) const override {
    auto hidden = model_.forward(tokens, cache);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens.data<int>()[i] == no_memory) throw std::bad_alloc();
    }
    return hidden;
  }
  tensor::Array normalised(const tensor::Array& hidden) const override {
    return model_.normalised(hidden);
  }
  tensor::Array logits(const tensor::Array& hidden) const override { return model_.logits(hidden); }
  std::vector<tensor::CacheSpec> caches() const override { return model_.caches(); }
  int vocab_size() const override { return model_.vocab_size(); }

 private:
  const models::Model& model_;
};

}  // namespace hearth::engine
