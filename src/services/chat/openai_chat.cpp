// POST /v1/chat/completions.
#include <fmt/format.h>

#include "services/chat/constraint_fields.h"
#include "services/chat/custom_tool.h"
#include "services/chat/effort.h"
#include "services/chat/fields.h"
#include "services/chat/normalise.h"
#include "services/chat/openai_chat_encoder.h"
#include "services/chat/openai_common.h"
#include "services/chat/options.h"
#include "services/chat/tool_choice.h"

namespace hearth::services {
namespace {

constexpr EffortLevel efforts[] = {
    {"none", "none"},     {"minimal", "low"}, {"low", "low"},
    {"medium", "medium"}, {"high", "xhigh"},  {"xhigh", "xhigh"},
};

/// {"type":"custom","custom":{"name",...}}
const Json* custom_of(const Json& tool) {
  const Json* type = tool.is_object() ? field(tool, "type") : nullptr;
  return type && *type == "custom" ? field(tool, "custom") : nullptr;
}

/// Custom tools become functions, and their names are put into `custom`.
Result<Json> with_functions(const Json& tools, Json& custom) {
  if (!tools.is_array()) return normalise_tools(tools);
  Json out = tools;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Json* sent = custom_of(tools[i]);
    if (!sent) continue;
    auto function = custom_tool_function(*sent, fmt::format("tools[{}].custom", i));
    if (!function) return function;
    custom.push_back((*sent)["name"]);
    out[i] = std::move(*function);
  }
  return normalise_tools(out);
}

/// `tools`, or the older `functions` as tools; null when there are none.
Result<Json> tools_of(const Json& body, Json& custom) {
  if (const Json* sent = field(body, "tools")) return with_functions(*sent, custom);
  const Json* functions = field(body, "functions");
  if (!functions) return Json();
  if (!functions->is_array()) return fail(wrong_value("functions", *functions, "an array"));
  Json tools = Json::array();
  for (const Json& f : *functions) tools.push_back({{"type", "function"}, {"function", f}});
  return normalise_tools(tools);
}

/// @param custom  gets the names of custom tools
Result<text::Conversation> conversation_of(const Json& body, std::string_view model, Json& custom) {
  text::Conversation chat;
  auto messages = normalise_messages(field(body, "messages"), model);
  if (!messages) return fail(messages.error());
  chat.messages = std::move(*messages);
  auto tools = tools_of(body, custom);
  if (!tools) return fail(tools.error());
  chat.tools = std::move(*tools);
  auto kwargs = read_template_kwargs(body);
  if (!kwargs) return fail(kwargs.error());
  const Json* effort = field(body, "reasoning_effort");
  if (auto set = apply_effort(effort, "reasoning_effort", efforts, *kwargs); !set) {
    return fail(set.error());
  }
  chat.kwargs = std::move(*kwargs);
  auto keep_on = read_bool(body, "continue_final_message");
  if (!keep_on) return fail(keep_on.error());
  chat.continue_final_message = keep_on->value_or(false);
  auto prompt = read_bool(body, "add_generation_prompt");
  if (!prompt) return fail(prompt.error());
  chat.add_generation_prompt = prompt->value_or(!chat.continue_final_message);
  return chat;
}

/// A choice of type "custom" is of a custom tool; that its name is a tool's was seen to.
Result<void> check_custom_choice(const Json& body, const ToolChoice& choice, const Json& custom) {
  const Json* sent = field(body, "tool_choice");
  const Json* type = sent && sent->is_object() ? field(*sent, "type") : nullptr;
  if (!type || *type != "custom" || is_custom_tool(custom, choice.names.front())) return {};
  return fail(wrong_value("tool_choice", *sent, "the name of a custom tool"));
}

Result<Request> parse(const Json& body, std::string_view model) {
  Request request;
  Json custom = Json::array();
  auto chat = conversation_of(body, model, custom);
  if (!chat) return fail(chat.error());
  auto choice = read_tool_choice(body, chat->tools);
  if (!choice) return fail(choice.error());
  if (auto ok = check_custom_choice(body, *choice, custom); !ok) return fail(ok.error());
  request.tool_choice = std::move(*choice);
  if (request.tool_choice.mode == ToolChoice::Mode::none) chat->tools = nullptr;
  request.input = std::move(*chat);
  const bool older = field(body, "functions") && !field(body, "tools");
  request.reply_fields = {{"function_call", older}, {"custom", std::move(custom)}};
  auto sampling = read_sampling(body);
  if (!sampling) return fail(sampling.error());
  request.sampling = std::move(*sampling);
  auto stop = read_stop(body);
  if (!stop) return fail(stop.error());
  request.stop = std::move(*stop);
  auto logprobs = read_logprobs(body);
  if (!logprobs) return fail(logprobs.error());
  request.top_logprobs = *logprobs;
  if (auto read = read_delivery(body, request); !read) return fail(read.error());
  auto constraint = read_constraint(body);
  if (!constraint) return fail(constraint.error());
  request.constraint = std::move(*constraint);
  if (auto taken = refuse_unsupported(body); !taken) return fail(taken.error());
  return request;
}

}  // namespace

const Protocol openai_chat{.path = "/v1/chat/completions",
                           .parse = parse,
                           .encoder = openai_chat_encoder,
                           .error = openai_error};

}  // namespace hearth::services
