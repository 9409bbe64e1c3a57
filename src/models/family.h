// The registry of model families: one file each registers itself here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "models/model.h"
#include "tensor/weights.h"

namespace hearth::models {

/// How a family writes a tool call where its chat template does not show it; named as the dialects
/// of text/dialect/, which read them.
enum class ToolDialect {
  none,
  hermes,
  qwen_xml,
  llama3,
  mistral,
  gemma,
  minicpm,
  minimax,
  glm,
  deepseek,
  kimi,
  harmony,
  lfm,
  granite,
};
/// The dialect's name: "hermes", ...
std::string_view to_string(ToolDialect dialect);

struct Family {
  std::vector<std::string_view> model_types;  // config.json model_type, mlx-lm's remaps included
  /// @throws tensor::WeightError, std::invalid_argument for a config that is not sound
  std::unique_ptr<Model> (*load)(const Json& config, const tensor::Weights& w);
  /// Tensors of the checkpoint that the graph does not take, as mlx-lm's sanitize drops them.
  bool (*drops)(const Json& config, std::string_view tensor) = nullptr;
  ToolDialect tool_calls = ToolDialect::none;
};

/// Registers a family: `const Registered qwen3{{...}};` at namespace scope.
struct Registered {
  explicit Registered(Family family);
};

/// Null when nothing here runs `model_type`.
const Family* find_family(std::string_view model_type);

/// Every model_type that can be loaded, sorted.
std::vector<std::string_view> known_model_types();

}  // namespace hearth::models
