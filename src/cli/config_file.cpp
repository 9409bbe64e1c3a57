#include "cli/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"

namespace hearth::cli {
namespace {

std::optional<std::string> scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

std::optional<std::vector<std::string>> values_of(const toml::node& node) {
  std::vector<std::string> out;
  if (const auto* array = node.as_array()) {
    for (const auto& element : *array) {
      const auto value = scalar(element);
      if (!value) return std::nullopt;
      out.push_back(*value);
    }
    return out;
  }
  const auto value = scalar(node);
  if (!value) return std::nullopt;
  return std::vector{*value};
}

tl::unexpected<Error> wrong(const fs::path& path, unsigned line, std::string_view what) {
  return fail(ErrorCode::usage, fmt::format("{}, line {}: {}", path.string(), line, what));
}

Result<ConfigValue> value_of(const ConfigFile& file, std::string name, const toml::node& node,
                             const std::string& verb) {
  auto values = values_of(node);
  if (!values) {
    return wrong(file.path, node.source().begin.line,
                 fmt::format("{} is a {}, expected text, a number, true or false", name,
                             node.is_table() ? "table" : "value of another kind"));
  }
  return ConfigValue{verb, std::move(name), std::move(*values),
                     static_cast<int>(node.source().begin.line)};
}

Result<std::vector<ConfigValue>> flat_table(const ConfigFile& file, const toml::table& table,
                                            const std::string& verb) {
  std::vector<ConfigValue> out;
  for (const auto& [key, node] : table) {
    auto value = value_of(file, std::string(key.str()), node, verb);
    if (!value) return fail(value.error());
    out.push_back(std::move(*value));
  }
  return out;
}

/// [models."org/name"] and its like.
Result<void> add_models(ConfigFile& file, const toml::table& table) {
  for (const auto& [key, node] : table) {
    const auto line = node.source().begin.line;
    const auto* section = node.as_table();
    if (section == nullptr) {
      return wrong(file.path, line,
                   fmt::format("models.{} is a value, expected a section [models.\"{}\"]",
                               key.str(), key.str()));
    }
    auto values = flat_table(file, *section, "serve");
    if (!values) return fail(values.error());
    file.models.push_back({std::string(key.str()), std::move(*values), static_cast<int>(line)});
  }
  return {};
}

Result<void> add_tables(ConfigFile& file, const toml::table& root) {
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    const auto* table = node.as_table();
    if (table != nullptr && name == "models") {
      if (auto added = add_models(file, *table); !added) return added;
      continue;
    }
    if (table != nullptr) {
      auto values = flat_table(file, *table, name);
      if (!values) return fail(values.error());
      std::ranges::move(*values, std::back_inserter(file.values));
      continue;
    }
    auto value = value_of(file, name, node, "");
    if (!value) return fail(value.error());
    file.values.push_back(std::move(*value));
  }
  return {};
}

}  // namespace

const ConfigValue* ConfigFile::find(std::string_view verb, std::string_view key) const {
  const ConfigValue* common = nullptr;
  for (const auto& value : values) {
    if (value.key != key) continue;
    if (value.verb == verb) return &value;
    if (value.verb.empty()) common = &value;
  }
  return common;
}

Result<ConfigFile> read_config_file(const fs::path& path, bool required) {
  ConfigFile file{.path = path, .values = {}, .models = {}};
  std::error_code ec;
  if (!required && !fs::exists(path, ec)) return file;
  const auto text = read_file(path);
  if (!text) {
    return fail(ErrorCode::usage, text.error().message);
  }
  try {
    const toml::table table = toml::parse(*text);
    if (auto added = add_tables(file, table); !added) return fail(added.error());
  } catch (const toml::parse_error& e) {
    return wrong(path, e.source().begin.line, e.description());
  }
  return file;
}

}  // namespace hearth::cli
