// What config.toml says of one model: sections [models."org/name"], whose keys are serve's flags.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/config_file.h"
#include "cli/sampling_options.h"
#include "cli/verb.h"

namespace hearth::cli {

/// What a section leaves out is unset; what it says counts for its model before the flags.
struct ModelSettings {
  SamplingOptions sampling;
  std::optional<bool> thinking, pin, l1;
  std::optional<int> batch, context, idle_unload;
  std::string served_name, template_file;

  void declare(OptionTable& table);
};

/// By the names that the sections have. Unknown keys are warned of.
/// Errors: usage, with file, line, value and what would be accepted.
Result<std::map<std::string, ModelSettings>> read_model_settings(const Context& context);

/// The section of a model as flags of `serve`, for its worker. `pin`, `idle-unload` and
/// `served-name` are left out: they are matters of the pool.
std::vector<std::string> section_flags(const ConfigFile& config, const std::string& model);

}  // namespace hearth::cli
