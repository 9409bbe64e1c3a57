// Reading a JSON body field by field: null counts as absent, a wrong type or value is an error that
// names the field, what it held and what was expected. Nothing is clamped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth::services {

/// The field's value; null when it is absent or null.
const Json* field(const Json& object, std::string_view name);

/// invalid_request: "`name` is <value>, expected <what>".
Error wrong_value(std::string_view name, const Json& value, std::string_view expected);

Result<std::optional<bool>> read_bool(const Json& body, std::string_view name);
Result<std::optional<std::string>> read_string(const Json& body, std::string_view name);
/// @param least, most  inclusive; an infinite `most` means no bound
Result<std::optional<double>> read_number(const Json& body, std::string_view name, double least,
                                          double most);
/// As read_number, for whole numbers (5.0 is one).
Result<std::optional<std::int64_t>> read_integer(const Json& body, std::string_view name,
                                                 std::int64_t least, std::int64_t most);

}  // namespace hearth::services
