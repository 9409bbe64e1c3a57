// A conversation that another wire's body was turned into, and where in that body each message
// stood, so that errors name what the client sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "services/chat/request.h"

namespace hearth::services {

struct Converted {
  Json messages = Json::array();     // OpenAI's shape
  std::vector<std::string> origins;  // "input[3]", one a message

  void add(Json message, std::string origin);
};

/// normalise_messages, with errors that name the origin instead of the converted message.
Result<Json> normalise_converted(const Converted& converted, std::string_view model);

/// Appends text to OpenAI content parts: to the last one if that is text, `between` before it.
void append_text(Json& parts, std::string_view text, std::string_view between);

/// The trailing turn of the model's own is what its answer goes on from, unless it ends in calls;
/// an empty one is left out.
void continue_last_turn(text::Conversation& chat);

/// Errors: invalid_request when a call must be made and there is no tool, or when a name is not one
/// of the tools'. @param tools  OpenAI function tools, or null
Result<void> check_tool_choice(const ToolChoice& choice, const Json& tools);

}  // namespace hearth::services
