// Pieces of Lark for the values of a tool call's arguments.
#pragma once

#include <string>

#include "base/json.h"

namespace hearth::text {

/// A list of `item` in brackets, as many as `schema` has `minItems` and `maxItems`.
std::string list_of(const std::string& item, const Json& schema);

/// A terminal of texts in which JSON Schema finds the pattern: anywhere, but for its anchors.
std::string searched(std::string pattern);

}  // namespace hearth::text
