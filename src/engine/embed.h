// Hidden states of texts, pooled: embeddings, computed between generations.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "engine/engine.h"

namespace hearth::engine {

/// Which hidden states of a text become its embedding. Source: sentence-transformers, Pooling.
enum class Pooling { first, mean, last };

/// One vector [D] a text, float32, as pooled: not normalised. Waits for its turn on the engine
/// thread, again for every few thousand tokens, so that generations go on in between.
/// @param texts  token ids, at least one each, no more than the model's context
/// Errors: invalid_request for an id outside the vocabulary; those of Engine::run_alone; cancelled.
Result<std::vector<std::vector<float>>> embed(Engine& engine,
                                              std::span<const std::vector<TokenId>> texts,
                                              Pooling pooling, const std::stop_token& stop = {});

}  // namespace hearth::engine
