// Ids of tool calls.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace hearth::services {

/// "call_" and 24 hex digits, random.
std::string new_call_id();

/// Templates that take ids of nine letters and digits only: Mistral's.
bool wants_short_call_ids(std::string_view chat_template);

/// The messages with each call's id, and its mention in a result, as nine letters and digits: equal
/// ids stay equal, from one request to the next too.
Json with_short_call_ids(Json messages);

}  // namespace hearth::services
