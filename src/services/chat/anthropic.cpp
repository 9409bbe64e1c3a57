// POST /v1/messages: Anthropic's request to the neutral one, its errors.
#include "services/chat/anthropic.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "services/chat/effort.h"
#include "services/chat/fields.h"
#include "services/chat/normalise.h"
#include "services/chat/options.h"

namespace hearth::services {
namespace {

constexpr EffortLevel anthropic_efforts[] = {
    {"low", "low"}, {"medium", "medium"}, {"high", "xhigh"}, {"xhigh", "xhigh"}, {"max", "xhigh"}};

constexpr std::pair<ErrorCode, std::string_view> anthropic_error_types[] = {
    {ErrorCode::invalid_request, "invalid_request_error"},
    {ErrorCode::context_overflow, "invalid_request_error"},
    {ErrorCode::invalid_schema, "invalid_request_error"},
    {ErrorCode::usage, "invalid_request_error"},
    {ErrorCode::unauthorized, "authentication_error"},
    {ErrorCode::forbidden, "permission_error"},
    {ErrorCode::not_found, "not_found_error"},
    {ErrorCode::too_large, "request_too_large"},
    {ErrorCode::overloaded, "rate_limit_error"},
    {ErrorCode::cancelled, "request_cancelled"},
};

/// Function tools. Server tools (no schema, or no name) are left out: nothing here runs them.
Result<Json> anthropic_tools_of(const Json& body) {
  const Json* sent = field(body, "tools");
  if (!sent) return Json();
  if (!sent->is_array()) return fail(wrong_value("tools", *sent, "an array"));
  Json tools = Json::array();
  for (std::size_t i = 0; i < sent->size(); ++i) {
    const Json& tool = (*sent)[i];
    const std::string where = fmt::format("tools[{}]", i);
    if (!tool.is_object()) return fail(wrong_value(where, tool, "an object"));
    const Json* name = field(tool, "name");
    const Json* schema = field(tool, "input_schema");
    if (!name || !schema) continue;
    if (!name->is_string()) return fail(wrong_value(where + ".name", *name, "a string"));
    if (!schema->is_object()) {
      return fail(wrong_value(where + ".input_schema", *schema, "a JSON schema object"));
    }
    Json function{{"name", *name}, {"parameters", *schema}};
    for (const char* kept : {"description", "strict"}) {
      if (const Json* value = field(tool, kept)) function[kept] = *value;
    }
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return normalise_tools(tools);
}

Result<ToolChoice> anthropic_tool_choice_of(const Json& body) {
  ToolChoice choice;
  const Json* sent = field(body, "tool_choice");
  if (!sent) return choice;
  constexpr std::string_view expected =
      "an object whose type is \"auto\", \"any\", \"none\", or \"tool\" with a name";
  const Json* type = sent->is_object() ? field(*sent, "type") : nullptr;
  if (!type) return fail(wrong_value("tool_choice", *sent, expected));
  const Json* name = field(*sent, "name");
  if (*type == "any") {
    choice.mode = ToolChoice::Mode::required;
  } else if (*type == "none") {
    choice.mode = ToolChoice::Mode::none;
  } else if (*type == "tool" && name && name->is_string()) {
    choice.mode = ToolChoice::Mode::required;
    choice.names = {name->get<std::string>()};
  } else if (*type != "auto") {
    return fail(wrong_value("tool_choice", *sent, expected));
  }
  auto alone = read_bool(*sent, "disable_parallel_tool_use");
  if (!alone) {
    alone.error().param = "tool_choice.disable_parallel_tool_use";
    return fail(alone.error());
  }
  choice.parallel = !alone->value_or(false);
  return choice;
}

/// `thinking`, then `output_config.effort`; what chat_template_kwargs say stands.
Result<void> read_anthropic_thinking(const Json& body, Request& request, Json& kwargs) {
  if (const Json* thinking = field(body, "thinking")) {
    constexpr std::string_view expected =
        "an object whose type is \"enabled\", \"adaptive\" or \"disabled\"";
    const Json* type = thinking->is_object() ? field(*thinking, "type") : nullptr;
    if (!type) return fail(wrong_value("thinking", *thinking, expected));
    const bool on = *type == "enabled" || *type == "adaptive" || *type == "between_tools";
    if (!on && *type != "disabled") return fail(wrong_value("thinking.type", *type, expected));
    auto budget = read_integer(*thinking, "budget_tokens", 1, std::numeric_limits<int>::max());
    if (!budget) {
      return fail(wrong_value("thinking.budget_tokens", (*thinking)["budget_tokens"],
                              "an integer of at least 1"));
    }
    if (*type == "enabled" && *budget) request.thinking_budget = int(**budget);
    if (!kwargs.contains("enable_thinking")) kwargs["enable_thinking"] = on;
  }
  const Json* config = field(body, "output_config");
  if (!config) return {};
  if (!config->is_object()) return fail(wrong_value("output_config", *config, "an object"));
  return apply_effort(field(*config, "effort"), "output_config.effort", anthropic_efforts, kwargs);
}

/// `output_config.format`, or `output_format` as it was called before.
Result<std::optional<Constraint>> anthropic_constraint_of(const Json& body) {
  const Json* config = field(body, "output_config");
  std::string_view where = "output_config.format";
  const Json* format = config ? field(*config, "format") : nullptr;
  if (!format) {
    where = "output_format";
    format = field(body, where);
  }
  if (!format) return std::nullopt;
  const Json* type = format->is_object() ? field(*format, "type") : nullptr;
  if (!type || *type != "json_schema") {
    return fail(wrong_value(where, *format, "{\"type\":\"json_schema\",\"schema\":{...}}"));
  }
  const Json* schema = field(*format, "schema");
  if (!schema || !(schema->is_object() || schema->is_boolean())) {
    return fail(wrong_value(fmt::format("{}.schema", where), schema ? *schema : Json(),
                            "a JSON schema: an object or a boolean"));
  }
  return Constraint{.kind = Constraint::Kind::json_schema, .schema = *schema, .strict = true};
}

Result<std::vector<std::string>> anthropic_stops_of(const Json& body) {
  const Json* sent = field(body, "stop_sequences");
  if (!sent) return std::vector<std::string>();
  if (!sent->is_array()) return fail(wrong_value("stop_sequences", *sent, "a list of strings"));
  auto stops = read_stop(Json{{"stop", *sent}});
  if (!stops) stops.error().param = "stop_sequences";
  return stops;
}

Result<text::Conversation> messages_conversation(const Json& body, std::string_view model,
                                                 Request& request) {
  text::Conversation chat;
  auto converted = anthropic_conversation(body);
  if (!converted) return fail(converted.error());
  auto messages = normalise_converted(*converted, model);
  if (!messages) return fail(messages.error());
  chat.messages = std::move(*messages);
  continue_last_turn(chat);
  auto tools = anthropic_tools_of(body);
  if (!tools) return fail(tools.error());
  auto choice = anthropic_tool_choice_of(body);
  if (!choice) return fail(choice.error());
  if (auto ok = check_tool_choice(*choice, *tools); !ok) return fail(ok.error());
  if (choice->mode != ToolChoice::Mode::none) chat.tools = std::move(*tools);
  request.tool_choice = std::move(*choice);
  auto kwargs = read_template_kwargs(body);
  if (!kwargs) return fail(kwargs.error());
  if (auto read = read_anthropic_thinking(body, request, *kwargs); !read) return fail(read.error());
  chat.kwargs = std::move(*kwargs);
  return chat;
}

/// The body without its long fields, and without `logit_bias`, which is not of this wire.
Json anthropic_options_of(const Json& body) {
  Json options = Json::object();
  for (const auto& [name, value] : body.items()) {
    if (!value.is_structured()) options[name] = value;
  }
  return options;
}

Result<Request> parse_messages(const Json& body, std::string_view model) {
  Request request;
  if (auto named = read_string(body, "model"); !named) return fail(named.error());
  auto chat = messages_conversation(body, model, request);
  if (!chat) return fail(chat.error());
  request.input = std::move(*chat);
  auto sampling = read_sampling(anthropic_options_of(body));
  if (!sampling) return fail(sampling.error());
  request.sampling = std::move(*sampling);
  auto stops = anthropic_stops_of(body);
  if (!stops) return fail(stops.error());
  request.stop = std::move(*stops);
  auto stream = read_bool(body, "stream");
  if (!stream) return fail(stream.error());
  request.stream = stream->value_or(false);
  auto constraint = anthropic_constraint_of(body);
  if (!constraint) return fail(constraint.error());
  request.constraint = std::move(*constraint);
  if (const Json* adapter = field(body, "adapter"); adapter && *adapter != "none") {
    return fail(wrong_value("adapter", *adapter, "\"none\": no adapter is mounted"));
  }
  return request;
}

}  // namespace

Json anthropic_error(const Error& error) {
  std::string_view type = "api_error";
  for (const auto& [code, name] : anthropic_error_types) {
    if (code == error.code) type = name;
  }
  return {{"type", "error"}, {"error", {{"type", type}, {"message", error.message}}}};
}

const Protocol anthropic_messages{.path = "/v1/messages",
                                  .parse = parse_messages,
                                  .encoder = anthropic_encoder,
                                  .error = anthropic_error};

}  // namespace hearth::services
