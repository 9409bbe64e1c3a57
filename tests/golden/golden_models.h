// The oracle's fixtures: models, prompts, and the logits that mlx-lm gave on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/sampling.h"
#include "tensor/array.h"

namespace hearth::golden {

struct Fixture {
  std::string name;  // "prompt 600"
  std::vector<engine::TokenId> prompt;
  int chunk = 0;                        // most tokens of it at once
  std::vector<engine::TokenId> greedy;  // [S] what mlx-lm picked
  tensor::Array logits;  // [S + 1, V] float32: after the prompt, after each greedy token
};

struct GoldenModel {
  std::string name;  // "llama/bf16"
  std::filesystem::path folder;
  bool fast = true;  // whether the fast tier is held to it
  std::vector<std::filesystem::path> fixtures;
};

/// Every model of the fixture folder that HEARTH_GOLDEN names.
/// @throws std::runtime_error when there is none: a missing oracle is a failure, not a skip
std::vector<GoldenModel> golden_models();

Fixture read_fixture(const std::filesystem::path& file);

}  // namespace hearth::golden
