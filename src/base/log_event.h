// A line of the log that is made of fields: `message key=value ...` as text, members of the one
// object as JSON.
#pragma once

#include <string_view>

#include "base/json.h"

namespace hearth::log {

/// At level info. @param fields  an object; not named time, level or message
void event(std::string_view message, const Json& fields);

}  // namespace hearth::log
