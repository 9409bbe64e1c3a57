// From argv, environment and config file to the fields of a command. A flag beats the environment,
// which beats the config file, which beats the default.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "cli/config_file.h"
#include "cli/option.h"

namespace hearth::cli {

struct Arguments {
  std::map<const Option*, std::vector<std::string>> given;  // values in order, last one last
  std::vector<std::string> words;                           // positionals, in order
};

/// Splits arguments by CLI11's rules: `--name value`, `--name=value`, `-n value`; `--` ends
/// options. Errors: usage, naming the flag: unknown (with the nearest known one), or without its
/// value.
Result<Arguments> split_arguments(const OptionTable& table, std::vector<std::string> arguments);

/// Sets every field from the arguments, else from its variable, else from the config file.
/// Error: usage, with the source, the value and what would be accepted.
Result<void> apply(const OptionTable& table, const Arguments& arguments,
                   const Environment& environment, const ConfigFile& config, std::string_view verb);

/// Sets the positional fields; returns the words that are left over.
std::vector<std::string> take_positionals(const OptionTable& table, const Arguments& arguments);

}  // namespace hearth::cli
