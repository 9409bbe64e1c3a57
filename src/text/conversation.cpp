#include "text/conversation.h"

#include <string>

namespace hearth::text {
namespace {

std::string role_of(const Json& message) {
  return message.is_object() ? message.value("role", std::string()) : std::string();
}

bool is_system(const Json& message) {
  const std::string role = role_of(message);
  return role == "system" || role == "developer";
}

void read_arguments(Json& call) {
  if (!call.is_object()) return;
  Json& function = call.contains("function") ? call["function"] : call;
  if (!function.is_object() || !function.contains("arguments")) return;
  Json& arguments = function["arguments"];
  if (!arguments.is_string()) return;
  const std::string raw = arguments.get<std::string>();
  const auto parsed = parse_json(raw);
  if (parsed && parsed->is_object()) {
    arguments = *parsed;
  } else if (raw.find_first_not_of(" \t\r\n") == raw.npos) {
    arguments = Json::object();
  } else {
    arguments = Json{{"arguments", raw}};
  }
}

/// Reasoning goes by several names: templates read "reasoning_content", some "thinking".
void name_reasoning(Json& message) {
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    if (!message.contains(name)) continue;
    const Json reasoning = message[name];
    if (!message.contains("thinking")) message["thinking"] = reasoning;
    message["reasoning_content"] = reasoning;
    return;
  }
}

Json normalised_message(const Json& message) {
  if (!message.is_object()) return message;
  Json clean = Json::object();
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) clean[key] = value;
  }
  name_reasoning(clean);
  if (!clean.contains("content") || clean["content"] == Json::array()) clean["content"] = "";
  if (clean.contains("tool_calls") && clean["tool_calls"].is_array()) {
    for (Json& call : clean["tool_calls"]) read_arguments(call);
  }
  return clean;
}

const char* type_of_value(const Json& value) {
  if (value.is_boolean()) return "boolean";
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return value.is_null() ? "null" : "string";
}

std::string inferred_type(const Json& schema) {
  if (schema.contains("properties")) return "object";
  if (schema.contains("items")) return "array";
  if (schema.contains("const")) return type_of_value(schema["const"]);
  if (schema.contains("enum") && schema["enum"].is_array() && !schema["enum"].empty()) {
    return type_of_value(schema["enum"][0]);
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    if (!schema.contains(key) || !schema[key].is_array()) continue;
    for (const Json& option : schema[key]) {
      if (!option.is_object()) continue;
      const Json type = option.value("type", Json(inferred_type(option)));
      if (type.is_string() && type != "null") return type.get<std::string>();
    }
  }
  return "string";
}

void add_text(Json& content, const Json& more) {
  if (content.is_string() && more.is_string()) {
    const auto& a = content.get_ref<const std::string&>();
    const auto& b = more.get_ref<const std::string&>();
    content = a.empty() || b.empty() ? a + b : a + "\n\n" + b;
    return;
  }
  const auto parts = [](const Json& value) {
    return value.is_array() ? value : Json::array({Json{{"type", "text"}, {"text", value}}});
  };
  Json joined = parts(content);
  for (const Json& part : parts(more)) joined.push_back(part);
  content = joined;
}

/// Two neighbours of one role that may be one turn.
bool joins(const Json& before, const Json& message) {
  const std::string role = role_of(message);
  return role == role_of(before) && (role == "user" || role == "assistant") &&
         !before.contains("tool_calls") && !message.contains("tool_calls");
}

struct Split {
  Json system;  // the text of every system turn; null when there is none
  Json turns = Json::array();
};

Split split_system(const Json& messages) {
  Split split;
  for (const Json& message : messages) {
    if (is_system(message)) {
      const Json content = message.value("content", Json(""));
      if (split.system.is_null()) {
        split.system = content;
      } else {
        add_text(split.system, content);
      }
    } else if (!split.turns.empty() && joins(split.turns.back(), message)) {
      add_text(split.turns.back()["content"], message.value("content", Json("")));
    } else {
      split.turns.push_back(message);
    }
  }
  return split;
}

}  // namespace

Json with_types(Json schema) {
  if (!schema.is_object()) return schema;
  if (!schema.contains("type")) schema["type"] = inferred_type(schema);
  if (schema.contains("properties") && schema["properties"].is_object()) {
    for (Json& property : schema["properties"]) property = with_types(std::move(property));
  }
  for (const char* key : {"items", "additionalProperties", "not"}) {
    if (schema.contains(key) && schema[key].is_object()) schema[key] = with_types(schema[key]);
  }
  for (const char* key : {"anyOf", "oneOf", "allOf", "prefixItems"}) {
    if (!schema.contains(key) || !schema[key].is_array()) continue;
    for (Json& option : schema[key]) option = with_types(std::move(option));
  }
  return schema;
}

Conversation normalised(Conversation conversation) {
  for (Json& message : conversation.messages) message = normalised_message(message);
  if (!conversation.tools.is_array()) return conversation;
  for (Json& tool : conversation.tools) {
    if (!tool.is_object()) continue;
    Json& function = tool.contains("function") ? tool["function"] : tool;
    if (function.is_object() && function.contains("parameters")) {
      function["parameters"] = with_types(std::move(function["parameters"]));
    }
  }
  return conversation;
}

Conversation with_system_first(Conversation conversation) {
  Split split = split_system(conversation.messages);
  conversation.messages = Json::array();
  if (!split.system.is_null()) {
    conversation.messages.push_back({{"role", "system"}, {"content", split.system}});
  }
  for (Json& turn : split.turns) conversation.messages.push_back(std::move(turn));
  return conversation;
}

Conversation with_system_in_user(Conversation conversation) {
  Split split = split_system(conversation.messages);
  if (!split.system.is_null()) {
    if (!split.turns.empty() && role_of(split.turns[0]) == "user") {
      Json content = split.system;
      add_text(content, split.turns[0].value("content", Json("")));
      split.turns[0]["content"] = content;
    } else {
      split.turns.insert(split.turns.begin(), Json{{"role", "user"}, {"content", split.system}});
    }
  }
  conversation.messages = std::move(split.turns);
  return conversation;
}

}  // namespace hearth::text
