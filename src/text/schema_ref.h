// References inside a JSON schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace hearth::text {

/// The schema without the identifier of its root; references that name it become "#...".
Json local_references(Json schema);

/// Where a reference ("#", "#/a/b", "#anchor") leads within the schema, as a JSON pointer; none
/// when it leads nowhere or elsewhere.
std::optional<std::string> local_pointer(const Json& root, std::string_view reference);

/// The value at a JSON pointer; null pointer when there is none.
Json* resolve_pointer(Json& root, std::string_view pointer);

/// Every reference "#/..." below `schema` with `prefix` put after its "#".
void prefix_references(Json& schema, std::string_view prefix);

}  // namespace hearth::text
