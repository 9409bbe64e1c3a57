// POST /v1/responses: the request to the neutral one, what the answer says of it again, errors.
#include "services/chat/responses.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "services/chat/effort.h"
#include "services/chat/fields.h"
#include "services/chat/options.h"

namespace hearth::services {
namespace {

constexpr EffortLevel responses_efforts[] = {
    {"none", "none"},  {"minimal", "low"}, {"low", "low"},  {"medium", "medium"},
    {"high", "xhigh"}, {"xhigh", "xhigh"}, {"max", "xhigh"}};

constexpr const char* unsupported_parameters[] = {"background", "conversation", "prompt"};

const char* wire_code(const Error& error) {
  if (error.code == ErrorCode::context_overflow) {
    return error.param == "--memory-budget" ? "context_over_budget" : "context_length_exceeded";
  }
  if (error.code == ErrorCode::invalid_schema) return "invalid_json_schema";
  if (error.code == ErrorCode::overloaded) return "queue_full";
  if (error.code == ErrorCode::unauthorized) return "invalid_api_key";
  if (error.code == ErrorCode::not_found && error.param == "model") return "model_not_found";
  if (error.code == ErrorCode::not_found && !error.param.empty()) return "response_not_found";
  if (error.code == ErrorCode::invalid_request) {
    for (const char* name : unsupported_parameters) {
      if (error.param == name) return "unsupported_parameter";
    }
  }
  return nullptr;
}

bool clients_fault(ErrorCode code) {
  return code != ErrorCode::internal && code != ErrorCode::io && code != ErrorCode::corrupt_file &&
         code != ErrorCode::unsupported;
}

Result<void> refuse_unsupported_parameters(const Json& body) {
  for (const char* name : unsupported_parameters) {
    const Json* value = field(body, name);
    if (value && *value != false) {
      return fail(ErrorCode::invalid_request,
                  fmt::format("`{}` is not supported by this server", name), name);
    }
  }
  if (const Json* adapter = field(body, "adapter"); adapter && *adapter != "none") {
    return fail(wrong_value("adapter", *adapter, "\"none\": no adapter is mounted"));
  }
  const Json* truncation = field(body, "truncation");
  if (truncation && *truncation != "auto" && *truncation != "disabled") {
    return fail(wrong_value("truncation", *truncation, "\"auto\" or \"disabled\""));
  }
  return {};
}

/// Sampling fields and logit_bias; `max_output_tokens` is this wire's `max_tokens`.
Result<SamplingFields> responses_sampling(const Json& body) {
  Json options = Json::object();
  for (const auto& [name, value] : body.items()) {
    if (!value.is_structured() || name == "logit_bias") options[name] = value;
  }
  constexpr auto most = std::numeric_limits<int>::max();
  auto limit = read_integer(body, "max_output_tokens", 1, most);
  if (!limit) return fail(limit.error());
  auto fields = read_sampling(options);
  if (fields && *limit) fields->max_tokens = int(**limit);
  return fields;
}

/// `text.format`.
Result<std::optional<Constraint>> responses_constraint(const Json& body) {
  const Json* text = field(body, "text");
  if (!text) return std::nullopt;
  if (!text->is_object()) return fail(wrong_value("text", *text, "an object"));
  const Json* format = field(*text, "format");
  if (!format) return std::nullopt;
  const Json* type = format->is_object() ? field(*format, "type") : nullptr;
  if (type && *type == "text") return std::nullopt;
  if (type && *type == "json_object") return Constraint{.kind = Constraint::Kind::json_object};
  if (!type || *type != "json_schema") {
    return fail(wrong_value("text.format", *format,
                            "an object whose type is text, json_object or json_schema"));
  }
  const Json* schema = field(*format, "schema");
  if (!schema || !(schema->is_object() || schema->is_boolean())) {
    return fail(wrong_value("text.format.schema", schema ? *schema : Json(),
                            "a JSON schema: an object or a boolean"));
  }
  auto strict = read_bool(*format, "strict");
  if (!strict) {
    return fail(wrong_value("text.format.strict", (*format)["strict"], "true or false"));
  }
  return Constraint{
      .kind = Constraint::Kind::json_schema, .schema = *schema, .strict = strict->value_or(false)};
}

Result<Json> responses_kwargs(const Json& body) {
  auto kwargs = read_template_kwargs(body);
  if (!kwargs) return kwargs;
  const Json* reasoning = field(body, "reasoning");
  if (!reasoning) return kwargs;
  if (!reasoning->is_object()) return fail(wrong_value("reasoning", *reasoning, "an object"));
  auto applied =
      apply_effort(field(*reasoning, "effort"), "reasoning.effort", responses_efforts, *kwargs);
  if (!applied) return fail(applied.error());
  return kwargs;
}

/// A probe that asks for one token of nothing is answered as an empty question.
Result<Converted> responses_turns(const Json& body, const std::optional<int>& max_tokens) {
  auto converted = responses_conversation(body);
  if (!converted) return converted;
  const Json* input = field(body, "input");
  const bool nothing = !input || input->empty() || *input == "";
  if (!nothing) return converted;
  if (max_tokens != 1) {
    return fail(wrong_value("input", input ? *input : Json(),
                            "a string that is not empty, or a list of items"));
  }
  if (!input || input->is_array()) {
    converted->add({{"role", "user"}, {"content", ""}}, "input");
  }
  return converted;
}

bool includes(const Json& body, std::string_view what) {
  const Json* include = field(body, "include");
  if (!include || !include->is_array()) return false;
  return std::ranges::any_of(*include, [&](const Json& name) { return name == what; });
}

/// -1: none are asked for. Those of the text come for `include`, or for a number above 0.
Result<int> responses_logprobs(const Json& body) {
  auto top = read_integer(body, "top_logprobs", 0, 20);
  if (!top) return fail(top.error());
  const Json* include = field(body, "include");
  const auto is_name = [](const Json& one) { return one.is_string(); };
  if (include && !(include->is_array() && std::ranges::all_of(*include, is_name))) {
    return fail(wrong_value("include", *include, "a list of strings"));
  }
  const int rivals = int(top->value_or(0));
  return rivals > 0 || includes(body, "message.output_text.logprobs") ? rivals : -1;
}

Result<Request> parse_response(const Json& body, std::string_view model) {
  if (auto ok = refuse_unsupported_parameters(body); !ok) return fail(ok.error());
  if (auto previous = read_string(body, "previous_response_id"); !previous) {
    return fail(previous.error());
  }
  Request request;
  auto sampling = responses_sampling(body);
  if (!sampling) return fail(sampling.error());
  request.sampling = std::move(*sampling);
  auto converted = responses_turns(body, request.sampling.max_tokens);
  if (!converted) return fail(converted.error());
  text::Conversation chat;
  auto messages = normalise_converted(*converted, model);
  if (!messages) return fail(messages.error());
  chat.messages = std::move(*messages);
  auto tools = responses_tools(body);
  if (!tools) return fail(tools.error());
  auto choice = responses_tool_choice(body, tools->functions);
  if (!choice) return fail(choice.error());
  if (choice->mode != ToolChoice::Mode::none && !tools->functions.empty()) {
    chat.tools = tools->functions;
  }
  request.tool_choice = std::move(*choice);
  auto kwargs = responses_kwargs(body);
  if (!kwargs) return fail(kwargs.error());
  chat.kwargs = std::move(*kwargs);
  request.input = std::move(chat);
  auto logprobs = responses_logprobs(body);
  if (!logprobs) return fail(logprobs.error());
  request.top_logprobs = *logprobs;
  auto stream = read_bool(body, "stream");
  if (!stream) return fail(stream.error());
  request.stream = stream->value_or(false);
  auto constraint = responses_constraint(body);
  if (!constraint) return fail(constraint.error());
  request.constraint = std::move(*constraint);
  if (auto named = read_string(body, "model"); !named) return fail(named.error());
  if (auto store = read_bool(body, "store"); !store) return fail(store.error());
  request.reply_fields = responses_reply_fields(body, *tools);
  return request;
}

}  // namespace

Json responses_error(const Error& error) {
  const char* code = wire_code(error);
  return {{"error",
           {{"message", error.message},
            {"type", clients_fault(error.code) ? "invalid_request_error" : "server_error"},
            {"param", error.param.empty() ? Json() : Json(error.param)},
            {"code", code ? Json(code) : Json()}}}};
}

Json responses_reply_fields(const Json& body, const ResponsesTools& tools) {
  Json echo{{"background", false},
            {"instructions", nullptr},
            {"max_output_tokens", nullptr},
            {"max_tool_calls", nullptr},
            {"metadata", Json::object()},
            {"parallel_tool_calls", true},
            {"previous_response_id", nullptr},
            {"prompt_cache_key", nullptr},
            {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
            {"safety_identifier", nullptr},
            {"service_tier", "default"},
            {"store", true},
            {"temperature", nullptr},
            {"text", {{"format", {{"type", "text"}}}}},
            {"tool_choice", "auto"},
            {"top_logprobs", 0},
            {"top_p", nullptr},
            {"truncation", "disabled"},
            {"user", nullptr}};
  for (auto& [name, value] : echo.items()) {
    const Json* sent = field(body, name);
    if (!sent || name == "service_tier") continue;
    if (value.is_object() && sent->is_object()) {
      value.update(*sent);
    } else {
      value = *sent;
    }
  }
  if (echo["user"].is_null()) echo.erase("user");  // the client's types know no null here
  echo["tools"] = tools.echo;
  return {{"echo", std::move(echo)},
          {"custom", tools.custom},
          {"encrypted", includes(body, "reasoning.encrypted_content")}};
}

const Protocol openai_responses{.path = "/v1/responses",
                                .parse = parse_response,
                                .encoder = responses_encoder,
                                .error = responses_error};

}  // namespace hearth::services
