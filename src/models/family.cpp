#include "models/family.h"

#include <algorithm>

namespace hearth::models {
namespace {

std::vector<Family>& families() {
  static std::vector<Family> all;
  return all;
}

}  // namespace

std::string_view to_string(ToolDialect dialect) {
  static constexpr std::string_view names[] = {"none",  "hermes",  "qwen_xml", "llama3", "mistral",
                                               "gemma", "minicpm", "minimax",  "glm",    "deepseek",
                                               "kimi",  "harmony", "lfm",      "granite"};
  return names[std::size_t(dialect)];
}

Registered::Registered(Family family) { families().push_back(std::move(family)); }

const Family* find_family(std::string_view model_type) {
  for (const auto& family : families()) {
    if (std::ranges::count(family.model_types, model_type) > 0) return &family;
  }
  return nullptr;
}

std::vector<std::string_view> known_model_types() {
  std::vector<std::string_view> types;
  for (const auto& family : families()) {
    types.insert(types.end(), family.model_types.begin(), family.model_types.end());
  }
  std::ranges::sort(types);
  return types;
}

}  // namespace hearth::models
