#include "services/chat/normalise.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>
#include <utility>

#include "services/chat/custom_tool.h"
#include "services/chat/fields.h"

namespace hearth::services {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> roles{{
    {"system", "system"},
    {"developer", "system"},
    {"user", "user"},
    {"assistant", "assistant"},
    {"tool", "tool"},
    {"function", "tool"},
}};

constexpr std::string_view media_types[] = {
    "image_url", "image",     "input_image", "input_audio", "audio",
    "audio_url", "video_url", "video",       "input_video", "file"};

Result<std::string> role_of(const Json& message, const std::string& where) {
  const std::string at = where + ".role";
  constexpr std::string_view expected = "system, developer, user, assistant, tool or function";
  if (!message.is_object()) {
    Error error = wrong_value(where, message, "an object with role and content");
    error.param = at;
    return fail(std::move(error));
  }
  const Json* role = field(message, "role");
  for (const auto& [known, meaning] : roles) {
    if (role && *role == known) return std::string(meaning);
  }
  return fail(wrong_value(at, role ? *role : Json(), expected));
}

/// Text of one content part.
Result<std::string> part_text(const Json& part, const std::string& where, std::string_view model) {
  if (part.is_string()) return part.get<std::string>();
  if (!part.is_object()) return fail(wrong_value(where, part, "a content part"));
  const Json* type = field(part, "type");
  for (const auto media : media_types) {
    if (type && *type == media) {
      return fail(
          ErrorCode::invalid_request,
          fmt::format("{}: {} takes text only, no part of type \"{}\"", where, model, media),
          where);
    }
  }
  for (const char* name : {"text", "refusal"}) {
    if (const Json* text = field(part, name)) {
      if (text->is_string()) return text->get<std::string>();
      return fail(wrong_value(fmt::format("{}.{}", where, name), *text, "a string"));
    }
  }
  return fail(wrong_value(where, part, "a text part: {\"type\":\"text\",\"text\":...}"));
}

Result<std::string> content_of(const Json& message, const std::string& where,
                               std::string_view model) {
  const std::string at = where + ".content";
  const Json* content = field(message, "content");
  if (!content) return std::string();
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) return fail(wrong_value(at, *content, "a string or an array of parts"));
  std::string text;
  for (std::size_t i = 0; i < content->size(); ++i) {
    auto part = part_text((*content)[i], fmt::format("{}[{}]", at, i), model);
    if (!part) return part;
    text += *part;
  }
  return text;
}

/// An object; a cut-off or foreign call of the model's own is kept as text rather than refused.
Json arguments_of(const Json* arguments) {
  if (!arguments) return Json::object();
  if (arguments->is_object()) return *arguments;
  const std::string text =
      arguments->is_string() ? arguments->get<std::string>() : arguments->dump();
  if (text.empty()) return Json::object();
  if (auto parsed = parse_json(text); parsed && parsed->is_object()) return std::move(*parsed);
  return Json{{"arguments", text}};
}

/// A call of a custom tool as one of the function that stands for it; other calls as they are.
Json as_function_call(const Json& call) {
  const Json* custom = call.is_object() ? field(call, "custom") : nullptr;
  const Json* name = custom && custom->is_object() ? field(*custom, "name") : nullptr;
  const Json* input = name ? field(*custom, "input") : nullptr;
  if (!input || !input->is_string()) return call;
  Json out = call;
  out.erase("custom");
  out["function"] = {{"name", *name},
                     {"arguments", custom_arguments(input->get_ref<const std::string&>())}};
  return out;
}

Result<Json> tool_call(const Json& sent, const std::string& where) {
  const Json call = as_function_call(sent);
  const Json* function = call.is_object() ? field(call, "function") : nullptr;
  const Json* name = function && function->is_object() ? field(*function, "name") : nullptr;
  if (!name || !name->is_string()) {
    return fail(
        wrong_value(where, call, "{\"id\",\"type\":\"function\",\"function\":{\"name\",...}}"));
  }
  Json out = call;
  out["type"] = "function";
  out["function"]["arguments"] = arguments_of(field(*function, "arguments"));
  return out;
}

Result<void> add_tool_calls(const Json& message, const std::string& where, Json& out) {
  Json calls = Json::array();
  if (const Json* list = field(message, "tool_calls")) {
    if (!list->is_array()) return fail(wrong_value(where + ".tool_calls", *list, "an array"));
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto call = tool_call((*list)[i], fmt::format("{}.tool_calls[{}]", where, i));
      if (!call) return fail(call.error());
      calls.push_back(std::move(*call));
    }
  } else if (const Json* legacy = field(message, "function_call")) {
    auto call =
        tool_call(Json{{"type", "function"}, {"function", *legacy}}, where + ".function_call");
    if (!call) return fail(call.error());
    calls.push_back(std::move(*call));
  }
  if (!calls.empty()) out["tool_calls"] = std::move(calls);
  return {};
}

Result<Json> normalise_message(const Json& message, const std::string& where,
                               std::string_view model) {
  auto role = role_of(message, where);
  if (!role) return fail(role.error());
  auto content = content_of(message, where, model);
  if (!content) return fail(content.error());
  Json out{{"role", *role}, {"content", std::move(*content)}};
  for (const char* name : {"name", "tool_call_id", "reasoning_content", "reasoning"}) {
    auto text = read_string(message, name);
    if (!text) {
      text.error().param = fmt::format("{}.{}", where, name);
      return fail(text.error());
    }
    if (*text) out[name] = std::move(**text);
  }
  if (*role == "assistant") {
    if (auto added = add_tool_calls(message, where, out); !added) return fail(added.error());
  }
  return out;
}

/// Gives tool messages the name of the function they answer, which some templates print.
void name_tool_results(Json& messages) {
  std::map<std::string, Json> names;
  for (Json& message : messages) {
    if (const Json* calls = field(message, "tool_calls")) {
      for (const Json& call : *calls) {
        if (const Json* id = field(call, "id"); id && id->is_string()) {
          names[id->get<std::string>()] = call["function"]["name"];
        }
      }
    }
    if (message["role"] == "tool" && !message.contains("name") &&
        message.contains("tool_call_id")) {
      const auto known = names.find(message["tool_call_id"].get<std::string>());
      if (known != names.end()) message["name"] = known->second;
    }
  }
}

}  // namespace

Result<Json> normalise_messages(const Json* messages, std::string_view model) {
  if (!messages || (messages->is_array() && messages->empty())) {
    return fail(ErrorCode::invalid_request, "messages required", "messages");
  }
  if (!messages->is_array()) return fail(wrong_value("messages", *messages, "an array"));
  Json out = Json::array();
  for (std::size_t i = 0; i < messages->size(); ++i) {
    auto message = normalise_message((*messages)[i], fmt::format("messages[{}]", i), model);
    if (!message) return fail(message.error());
    out.push_back(std::move(*message));
  }
  name_tool_results(out);
  return out;
}

Result<Json> normalise_tools(const Json& tools) {
  if (!tools.is_array()) return fail(wrong_value("tools", tools, "an array"));
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    const Json* type = tools[i].is_object() ? field(tools[i], "type") : nullptr;
    const Json* function = tools[i].is_object() ? field(tools[i], "function") : nullptr;
    const Json* name = function && function->is_object() ? field(*function, "name") : nullptr;
    if (!type || *type != "function" || !name || !name->is_string()) {
      return fail(wrong_value(where, tools[i],
                              "{\"type\":\"function\",\"function\":{\"name\",\"parameters\"}}"));
    }
    const Json* parameters = field(*function, "parameters");
    if (parameters && !parameters->is_object()) {
      return fail(wrong_value(where + ".function.parameters", *parameters, "a JSON schema object"));
    }
  }
  return tools.empty() ? Json() : tools;
}

}  // namespace hearth::services
