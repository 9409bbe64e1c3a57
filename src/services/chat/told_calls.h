// Tool turns for chat templates that know nothing of tools: nothing of the conversation may be lost
// to them.
#pragma once

#include "base/json.h"
#include "text/chat_template.h"

namespace hearth::services {

/// Whether the template leaves out the calls of assistant turns.
bool drops_calls(const text::ChatTemplate& chat_template);

/// Each call written behind the text of its turn, as Hermes models write it.
Json with_told_calls(Json messages);

/// Each tool's result as a user turn, for templates that refuse its role.
Json with_told_results(Json messages);

}  // namespace hearth::services
