// Of the wires whose stream events have names (Anthropic Messages, OpenAI Responses): ids, frames.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace hearth::services {

/// The prefix and 24 random hex digits.
std::string new_id(std::string_view prefix);

/// "event: <type>\ndata: <json>\n\n"; the event's name is its "type".
std::string sse_event(const Json& event);

/// White space alone, or nothing.
bool is_blank(std::string_view text);

}  // namespace hearth::services
