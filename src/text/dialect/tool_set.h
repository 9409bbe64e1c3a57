// The tools that an answer may call: their names and what their parameters are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hearth::text {

class ToolSet {
 public:
  ToolSet() = default;
  /// @param tools  OpenAI function tools, normalised; null for none
  /// @param names  only these of them; empty: all
  explicit ToolSet(const Json& tools, const std::vector<std::string>& names = {});

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  bool empty() const { return tools_.empty(); }

  /// The value that a parameter's text stands for: text where the schema has a string, or a string
  /// or null; else JSON if it is that; else text.
  Json value(std::string_view tool, std::string_view parameter, std::string_view text) const;

 private:
  struct Tool {
    std::string name;
    Json parameters;
  };
  const Tool* find(std::string_view name) const;
  std::vector<Tool> tools_;
};

}  // namespace hearth::text
