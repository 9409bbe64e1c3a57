#include "services/chat/answer_scope.h"

#include "services/chat/openai_common.h"

namespace hearth::services {
namespace {

Json told(const Constraint& constraint) {
  return {{"kind", int(constraint.kind)}, {"schema", constraint.schema},
          {"text", constraint.text},      {"choices", constraint.choices},
          {"strict", constraint.strict},  {"any_whitespace", constraint.any_whitespace}};
}

Json told(const ToolChoice& choice) {
  return {{"mode", int(choice.mode)}, {"names", choice.names}, {"parallel", choice.parallel}};
}

}  // namespace

std::string answer_scope(const Request& request, const Input& input,
                         const ServerDefaults& defaults) {
  const auto* chat = std::get_if<text::Conversation>(&input);
  const Json scope{
      {"stop", request.stop},
      {"constraint", request.constraint ? told(*request.constraint) : Json()},
      {"tools", chat ? chat->tools : Json()},
      {"tool_choice", told(request.tool_choice)},
      {"continues", chat && chat->continue_final_message},
      {"template", chat ? chat->kwargs : Json()},
      {"thinking", defaults.thinking ? Json(*defaults.thinking) : Json()},
      {"thinking_budget", request.thinking_budget ? Json(*request.thinking_budget) : Json()},
      {"held", defaults.grammars}};
  return dump(scope);
}

}  // namespace hearth::services
