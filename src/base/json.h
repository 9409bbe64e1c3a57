// JSON values with their keys in the order they were written, and a parser for strangers' text.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace hearth {

using Json = nlohmann::ordered_json;

/// Parses one JSON document.
/// Refuses invalid UTF-8, lone surrogates, trailing text and more than `max_depth` levels.
Result<Json> parse_json(std::string_view text, int max_depth = 256);

}  // namespace hearth
