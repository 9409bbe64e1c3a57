// Tool turns for chat templates that know nothing of tools: nothing of the conversation may be lost
// to them.
#pragma once

#include "base/json.h"
#include "text/chat_template.h"
#include "text/dialect/dialect.h"

namespace hearth::services {

/// Whether the template leaves out the calls of assistant turns.
bool drops_calls(const text::ChatTemplate& chat_template);

/// The form in which such a model is told of calls: its dialect's where arguments are JSON there,
/// else that of Hermes.
const text::CallShape& told_shape(const text::Dialect& dialect);

/// The tools and how to call one, behind the first system turn or as one.
/// @param tools  null or an array of function tools
Json with_told_tools(Json messages, const Json& tools, const text::CallShape& shape);

/// The calls of a turn written behind its text.
Json with_told_calls(Json messages, const text::CallShape& shape);

/// Each tool's result as a user turn, for templates that refuse its role.
Json with_told_results(Json messages);

}  // namespace hearth::services
