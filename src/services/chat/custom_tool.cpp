#include "services/chat/custom_tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "services/chat/fields.h"

namespace hearth::services {
namespace {

/// The one field of the function.
constexpr const char* input_field = "input";

struct Grammar {
  std::string syntax;  // "lark" or "regex"; empty: any text
  std::string definition;
};

Result<Grammar> grammar_of(const Json& tool, const std::string& where) {
  const Json* format = field(tool, "format");
  if (!format) return Grammar{};
  const std::string at = where + ".format";
  const Json* type = format->is_object() ? field(*format, "type") : nullptr;
  if (type && *type == "text") return Grammar{};
  if (!type || *type != "grammar") {
    return fail(wrong_value(at, *format, R"({"type":"text"} or {"type":"grammar",...})"));
  }
  const Json* nested = field(*format, "grammar");
  const Json& grammar = nested && nested->is_object() ? *nested : *format;
  const Json* syntax = field(grammar, "syntax");
  const Json* definition = field(grammar, "definition");
  if (!syntax || (*syntax != "lark" && *syntax != "regex")) {
    return fail(wrong_value(at + ".syntax", syntax ? *syntax : Json(), "\"lark\" or \"regex\""));
  }
  if (!definition || !definition->is_string()) {
    return fail(
        wrong_value(at + ".definition", definition ? *definition : Json(), "a grammar's text"));
  }
  return Grammar{*syntax, *definition};
}

Json text_schema(const Grammar& grammar) {
  Json schema{{"type", "string"}};
  if (grammar.syntax == "regex") schema["pattern"] = fmt::format("^(?:{})$", grammar.definition);
  return schema;
}

}  // namespace

Result<Json> custom_tool_function(const Json& tool, const std::string& where) {
  const Json* name = tool.is_object() ? field(tool, "name") : nullptr;
  if (!name || !name->is_string()) {
    return fail(wrong_value(where + ".name", name ? *name : Json(), "a string"));
  }
  const auto grammar = grammar_of(tool, where);
  if (!grammar) return fail(grammar.error());
  auto described = read_string(tool, "description");
  if (!described) return fail(wrong_value(where + ".description", tool["description"], "a string"));
  std::string description = described->value_or("");
  if (!grammar->syntax.empty()) {
    description += fmt::format("\n\nThe input follows this {} grammar:\n{}", grammar->syntax,
                               grammar->definition);
  }
  Json function{{"name", *name},
                {"description", std::move(description)},
                {"parameters",
                 {{"type", "object"},
                  {"properties", {{input_field, text_schema(*grammar)}}},
                  {"required", Json::array({input_field})},
                  {"additionalProperties", false}}}};
  if (grammar->syntax == "regex") function["strict"] = true;
  return Json{{"type", "function"}, {"function", std::move(function)}};
}

Json custom_arguments(std::string_view text) { return {{input_field, text}}; }

std::string custom_text(const std::string& arguments) {
  const auto json = parse_json(arguments);
  const Json* text = json && json->is_object() ? field(*json, input_field) : nullptr;
  return text && text->is_string() ? text->get<std::string>() : arguments;
}

bool is_custom_tool(const Json& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const Json& one) { return one == name; });
}

}  // namespace hearth::services
