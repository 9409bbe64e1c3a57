// What a body says its answer must be: `response_format` and the guided_* fields.
#pragma once

#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "services/chat/request.h"

namespace hearth::services {

/// Reads guided_grammar > response_format > structured_outputs (and guided_json) > guided_regex >
/// guided_choice: the first that is there. A response_format of type "text" is none.
/// Errors: invalid_request naming the field; invalid_schema for a schema that is none.
Result<std::optional<Constraint>> read_constraint(const Json& body);

/// The constraint of an object with "schema", "strict" and "any_whitespace".
/// @param field  names the object in errors
Result<Constraint> schema_constraint(const Json& object, const std::string& field);

}  // namespace hearth::services
