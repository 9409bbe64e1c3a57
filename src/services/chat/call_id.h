// Ids of tool calls.
#pragma once

#include <string>

namespace hearth::services {

/// "call_" and 24 hex digits, random.
std::string new_call_id();

}  // namespace hearth::services
