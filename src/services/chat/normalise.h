// Messages of any wire to the one shape that templates read.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth::services {

/// OpenAI messages, normalised: developer is system, function is tool; content is one string (its
/// text parts joined; null, absent, "" and [] are all ""); arguments of tool calls are objects
/// (text that is none of JSON's objects becomes {"arguments": text}).
/// @param model  named when a part is of a kind that it cannot read
/// Errors: invalid_request naming the message: messages[i].role, messages[i].content, ...
Result<Json> normalise_messages(const Json* messages, std::string_view model);

/// Function tools: an array of {"type":"function","function":{"name",...}}.
/// Errors: invalid_request naming the tool.
Result<Json> normalise_tools(const Json& tools);

}  // namespace hearth::services
