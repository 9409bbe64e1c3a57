#include "services/chat/told_calls.h"

#include <fmt/format.h>

#include "services/chat/openai_common.h"
#include "text/dialect/dialects.h"

namespace hearth::services {
namespace {

std::string call_text(const text::CallShape& shape, std::string_view name,
                      std::string_view arguments) {
  return fmt::format("{}{}{}{}{}", shape.before_name, name, shape.after_name, arguments,
                     shape.after_call);
}

std::string written_calls(const Json& calls, const text::CallShape& shape) {
  std::string out(shape.begin);
  for (const Json& call : calls) {
    const Json& function = call["function"];
    if (out.size() > shape.begin.size()) out += shape.between;
    out += call_text(shape, function["name"].get<std::string>(), dump(function["arguments"]));
  }
  return out + std::string(shape.end);
}

std::string described_tools(const Json& tools, const text::CallShape& shape) {
  std::string out = "These tools are at hand, one JSON object a line:\n";
  for (const Json& tool : tools) {
    out += dump(tool["function"]) + "\n";
  }
  return out + fmt::format(
                   "To use one, end your turn with a call in this form:\n{}{}{}\n"
                   "Its result comes with the next turn. Where none is needed, answer in "
                   "plain words.",
                   shape.begin, call_text(shape, "NAME", "{\"PARAMETER\": VALUE}"), shape.end);
}

void append_text(Json& content, const std::string& text, std::string_view between) {
  if (content.is_array()) {
    content.push_back({{"type", "text"}, {"text", text}});
    return;
  }
  const auto before = content.is_string() ? content.get<std::string>() : std::string();
  content = before.empty() ? text : fmt::format("{}{}{}", before, between, text);
}

}  // namespace

bool drops_calls(const text::ChatTemplate& chat_template) {
  return !chat_template.supports_tools() &&
         chat_template.source().find("tool_calls") == std::string::npos;
}

const text::CallShape& told_shape(const text::Dialect& dialect) {
  return dialect.form == text::ArgumentForm::json ? dialect.call : text::hermes.call;
}

Json with_told_tools(Json messages, const Json& tools, const text::CallShape& shape) {
  if (!tools.is_array() || tools.empty()) return messages;
  if (messages.empty() || messages[0]["role"] != "system") {
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", ""}});
  }
  append_text(messages[0]["content"], described_tools(tools, shape), "\n\n");
  return messages;
}

Json with_told_calls(Json messages, const text::CallShape& shape) {
  for (Json& message : messages) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) continue;
    if (!calls->empty()) append_text(message["content"], written_calls(*calls, shape), "\n");
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
