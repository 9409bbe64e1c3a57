// config.toml: defaults by flag name, for every verb or under the name of one.
//
//   device = "cpu"
//   [serve]
//   port = 9000
//   [models."org/name"]
//   temperature = 0.2
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hearth::cli {

struct ConfigValue {
  std::string verb;                 // empty: for every verb
  std::string key;                  // a flag without its dashes
  std::vector<std::string> values;  // one, or an array's
  int line = 0;
};

/// What is said of one model.
struct ModelSection {
  std::string model;
  std::vector<ConfigValue> values;
  int line = 0;
};

struct ConfigFile {
  std::filesystem::path path;
  std::vector<ConfigValue> values;
  std::vector<ModelSection> models;

  /// What stands for `key` under the verb, else for every verb.
  const ConfigValue* find(std::string_view verb, std::string_view key) const;
};

/// Reads a config file. A file that is not there is an empty one, unless `required`.
/// Errors: usage, with file and line.
Result<ConfigFile> read_config_file(const std::filesystem::path& path, bool required);

}  // namespace hearth::cli
