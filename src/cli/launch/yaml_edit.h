// Sets top-level keys of a YAML file: ours stand in a marked block at its end, and the user's own
// lines for the same keys become comments until the block is taken out again.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hearth::cli {

using YamlKeys = std::vector<std::pair<std::string, std::string>>;

/// Errors: unsupported where the file is not a plain block mapping of one document.
Result<std::string> set_yaml_keys(std::string_view text, const YamlKeys& keys);

/// `text` without the block, and with the user's lines as they were.
std::string remove_yaml_block(std::string_view text);

}  // namespace hearth::cli
