// Texts to vectors, as /v1/embeddings and `hearth embed` make them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "services/embedding/config.h"
#include "services/model.h"

namespace hearth::services {

using EmbeddingInput = std::variant<std::string, std::vector<text::TokenId>>;

struct EmbeddingRequest {
  static constexpr int most_inputs = 2048;

  std::vector<EmbeddingInput> inputs;      // texts, or tokens that are taken as they are
  std::optional<std::string> instruction;  // Qwen3-Embedding's form of a query, before each text
  std::optional<std::string> prompt_name;  // one of the model's own prompts
  std::optional<int> dimensions;
  bool truncate = false;  // what is too long loses its end; else it is an error
};

struct Embeddings {
  std::vector<std::vector<float>> vectors;
  int tokens = 0;  // that were computed
};

/// Errors: invalid_request naming the field: a model that makes no embeddings, an empty input, a
/// text longer than the model takes (both numbers), a prompt that it does not have, dimensions that
/// it does not allow.
Result<Embeddings> embed(const LoadedModel& model, const EmbeddingRequest& request,
                         const std::stop_token& stop = {});

}  // namespace hearth::services
