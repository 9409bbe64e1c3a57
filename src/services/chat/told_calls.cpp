#include "services/chat/told_calls.h"

#include <fmt/format.h>

#include "text/dialect/dialects.h"

namespace hearth::services {
namespace {

std::string written_call(const Json& call) {
  const auto& shape = text::hermes.call;
  const Json& function = call["function"];
  return fmt::format(
      "{}{}{}{}{}", shape.before_name, function["name"].get<std::string>(), shape.after_name,
      function["arguments"].dump(-1, ' ', false, Json::error_handler_t::replace), shape.after_call);
}

void append_text(Json& content, const std::string& text) {
  if (content.is_array()) {
    content.push_back({{"type", "text"}, {"text", text}});
    return;
  }
  const auto before = content.is_string() ? content.get<std::string>() : std::string();
  content = before.empty() ? text : before + "\n" + text;
}

}  // namespace

bool drops_calls(const text::ChatTemplate& chat_template) {
  return !chat_template.supports_tools() &&
         chat_template.source().find("tool_calls") == std::string::npos;
}

Json with_told_calls(Json messages) {
  for (Json& message : messages) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) continue;
    for (const Json& call : *calls) append_text(message["content"], written_call(call));
    message.erase("tool_calls");
  }
  return messages;
}

Json with_told_results(Json messages) {
  for (Json& message : messages) {
    if (message["role"] != "tool" || !message["content"].is_string()) continue;
    message = {{"role", "user"},
               {"content", fmt::format("<tool_response>\n{}\n</tool_response>",
                                       message["content"].get<std::string>())}};
  }
  return messages;
}

}  // namespace hearth::services
