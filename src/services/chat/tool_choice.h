// Which tools an answer may or must call: OpenAI's `tool_choice` and `parallel_tool_calls`, and the
// older `function_call`.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "services/chat/request.h"

namespace hearth::services {

/// Reads "auto", "none", "required", {"type":"function","function":{"name"}}, the same of "custom"
/// and {"type":"allowed_tools","allowed_tools":{"mode","tools"}}; `function_call` likewise.
/// @param tools  as normalise_tools gives them; null for none
/// Errors: invalid_request naming the field: another form, a tool that is not among `tools`, a call
/// demanded where there are no tools.
Result<ToolChoice> read_tool_choice(const Json& body, const Json& tools);

}  // namespace hearth::services
