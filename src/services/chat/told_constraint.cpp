#include "services/chat/told_constraint.h"

#include <fmt/format.h>

namespace hearth::services {
namespace {

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string instruction(const Constraint& constraint) {
  switch (constraint.kind) {
    case Constraint::Kind::json_object:
      return "Answer with one JSON object and nothing else.";
    case Constraint::Kind::json_schema:
      return fmt::format(
          "Answer with JSON that matches this JSON schema, and with nothing else:\n{}",
          text_of(constraint.schema));
    case Constraint::Kind::grammar:
      return fmt::format("Answer with text of this grammar, and with nothing else:\n{}",
                         constraint.text);
    case Constraint::Kind::regex:
      return fmt::format(
          "Answer with text that matches this regular expression, and with nothing else:\n{}",
          constraint.text);
    case Constraint::Kind::choice:
      break;
  }
  return fmt::format("Answer with one of these strings, and with nothing else:\n{}",
                     text_of(constraint.choices));
}

}  // namespace

std::string tell_constraint(Request& request) {
  auto* chat = std::get_if<text::Conversation>(&request.input);
  const bool forced = request.tool_choice.mode == ToolChoice::Mode::required;
  if (!request.constraint && !forced) return {};
  if (chat) {
    const std::string told = request.constraint
                                 ? instruction(*request.constraint)
                                 : "Answer with a call of one of the tools, and with nothing else.";
    chat->messages.insert(chat->messages.begin(), Json{{"role", "system"}, {"content", told}});
  }
  return "grammar not enforced: HEARTH_GRAMMAR=0";
}

}  // namespace hearth::services
