// OpenAI's Responses wire: what its files share.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "services/chat/origins.h"
#include "services/chat/protocol.h"

namespace hearth::services {

/// {"error":{"message","type","param","code"}}; type is invalid_request_error or server_error.
Json responses_error(const Error& error);

/// `instructions` and `input` in OpenAI's chat shape: the instructions and all system and developer
/// items are one leading system message.
/// Errors: invalid_request naming the item.
Result<Converted> responses_conversation(const Json& body);

struct ResponsesTools {
  Json functions = Json::array();  // OpenAI chat tools
  Json echo = Json::array();       // the tools that are used, as the answer says them again
  std::set<std::string> custom;    // names of those that take free text
};

/// Function tools and custom ones; tools that only OpenAI's own servers run are left out.
/// Errors: invalid_request naming the tool.
Result<ResponsesTools> responses_tools(const Json& body);

/// `tool_choice` and `parallel_tool_calls`, held against the tools.
Result<ToolChoice> responses_tool_choice(const Json& body, const Json& functions);

/// What the answer says again of its request (Request::reply_fields):
/// {"echo": fields of the response object, "custom": names of custom tools, "encrypted": bool}
Json responses_reply_fields(const Json& body, const ResponsesTools& tools);

std::unique_ptr<Encoder> responses_encoder(const Request& request, ReplyInfo info);

}  // namespace hearth::services
