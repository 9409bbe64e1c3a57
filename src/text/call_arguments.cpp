#include "text/call_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "text/call_values.h"
#include "text/grammar_schema.h"
#include "text/schema_ref.h"

namespace hearth::text {
namespace {

constexpr const char* whole = "/$defs/whole";  // where the tool's schema stands in a value's

/// The schema of the arguments: always an object's.
Json object_schema(const CallableTool& tool) {
  if (!tool.held) return {{"type", "object"}};
  if (tool.parameters.is_null()) return {{"type", "object"}, {"additionalProperties", false}};
  Json schema = tool.parameters;
  if (schema == true) schema = Json::object();
  if (schema.is_object() && !schema.contains("type")) schema["type"] = "object";
  return schema;
}

tl::unexpected<Error> at_tool(Error error, const CallableTool& tool) {
  if (error.param.starts_with(whole)) error.param.erase(0, std::string_view(whole).size());
  error.message = fmt::format("tool \"{}\": {}", tool.name, error.message);
  error.param = tool.param + error.param;
  return fail(std::move(error));
}

Error cannot(std::string_view keyword, std::string at, std::string_view form) {
  return {ErrorCode::invalid_schema,
          fmt::format("\"{}\" at {}: it cannot be held in the {} form of tool calls", keyword, at,
                      form),
          at};
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Arguments as a list of key and value, each between texts of the dialect.
class ParameterRules {
 public:
  ParameterRules(const LarkWriter& lark, const Dialect& dialect, const CallableTool& tool,
                 std::string name)
      : lark_(lark), dialect_(dialect), tool_(tool), name_(std::move(name)),
        schema_(local_references(object_schema(tool))),
        known_(Json::array({{{"function", {{"name", tool.name}, {"parameters", schema_}}}}})) {}

  Result<std::string> run() {
    if (!tool_.held) return any_parameters();
    if (auto error = what_cannot_be_held()) return at_tool(*error, tool_);
    const Json properties = schema_.value("properties", Json::object());
    for (const auto& [key, value] : properties.items()) {
      if (auto error = add(key, value)) return at_tool(*error, tool_);
    }
    write_order();
    return rules_;
  }

 private:
  struct Parameter {
    std::string rule;
    bool required;
  };

  /// Keywords of the object itself that a list of parameters does not show.
  std::optional<Error> what_cannot_be_held() const {
    static const std::set<std::string_view> fine = {
        "type",    "properties",  "required",    "additionalProperties",
        "$defs",   "definitions", "description", "title",
        "$schema", "$comment",    "default",     "examples"};
    for (const auto& [key, value] : schema_.items()) {
      if (!fine.contains(key)) return cannot(key, pointer_to("", key), dialect_.name);
    }
    const Json properties = schema_.value("properties", Json::object());
    for (const Json& key : schema_.value("required", Json::array())) {
      if (!key.is_string() || !properties.contains(key.get<std::string>())) {
        return cannot("required", "/required", dialect_.name);
      }
    }
    return std::nullopt;
  }

  std::optional<Error> add(const std::string& key, const Json& schema) {
    const Json required = schema_.value("required", Json::array());
    const bool needed = std::ranges::find(required, Json(key)) != required.end();
    const std::string rule = fmt::format("{}_{}", name_, parameters_.size());
    const auto& shape = dialect_.parameter;
    const bool word =
        std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!word && dialect_.form != ArgumentForm::parameters) {
      return cannot(key, pointer_to("/properties", key), dialect_.name);
    }
    auto value = value_of(key, schema, rule);
    if (!value) {
      if (schema == false && !needed) return std::nullopt;
      return value.error();
    }
    const std::string open = fmt::format("{}{}{}", shape.before_key, key, shape.after_key);
    rules_ += fmt::format("{}: {} {}\n", rule, lark_.literal(open), *value);
    parameters_.push_back({rule, needed});
    return std::nullopt;
  }

  /// The items of a parameter's value and what follows it; what they need goes to rules_.
  Result<std::string> value_of(const std::string& key, const Json& schema,
                               const std::string& rule) {
    const auto pointer = pointer_to("/properties", key);
    if (dialect_.form == ArgumentForm::gemma) return marked_value(schema, pointer, rule, 0);
    const bool bare = known_.value(tool_.name, key, "0").is_string();
    if (bare && dialect_.parameter.string_quote.empty()) return text_value(schema, pointer, rule);
    auto json = json_value(pointer);
    if (!json) return json;
    return fmt::format("{} {}", *json, lark_.literal(dialect_.parameter.after_value));
  }

  Result<std::string> json_value(const std::string& pointer) const {
    Json held = schema_;
    prefix_references(held, whole);
    return lark_.json({{"$ref", "#" + (whole + pointer)}, {"$defs", {{"whole", held}}}}, true);
  }

  /// A value of Gemma's form: strings between their quotes, lists of values, other scalars as JSON.
  Result<std::string> marked_value(const Json& given, const std::string& pointer,
                                   const std::string& rule, int depth) {
    const Json schema = followed(given);
    if (is_text(schema)) {
      auto text = text_value(schema, pointer, rule);
      if (!text) return text;
      return fmt::format("{} {}", lark_.literal(dialect_.parameter.string_quote), *text);
    }
    const Json type = schema.value("type", Json());
    if (type == "array" && depth < 4 && schema.contains("items")) {
      auto item =
          marked_value(schema["items"], pointer_to(pointer, "items"), rule + "_i", depth + 1);
      if (!item) return item;
      return list_of(*item, schema);
    }
    const bool scalar =
        type == "number" || type == "integer" || type == "boolean" || type == "null";
    if (!scalar && !schema.contains("enum") && !schema.contains("const")) {
      return fail(cannot("type", pointer_to(pointer, "type"), dialect_.name));
    }
    return json_value(pointer);
  }

  /// Every value is a string, or null beside strings.
  bool is_text(const Json& schema) {
    const Json type = schema.value("type", Json());
    if (type == "string") return true;
    if (type.is_array()) {
      const auto text = [](const Json& t) { return t == "string" || t == "null"; };
      return std::ranges::all_of(type, text) &&
             std::ranges::find(type, Json("string")) != type.end();
    }
    if (!type.is_null()) return false;
    if (schema.contains("const")) return schema["const"].is_string();
    const auto string = [](const Json& value) { return value.is_string(); };
    if (schema.contains("enum")) return std::ranges::all_of(schema["enum"], string);
    for (const char* keyword : {"anyOf", "oneOf"}) {
      if (!schema.contains(keyword)) continue;
      const auto text = [&](const Json& one) {
        const Json branch = followed(one);
        return branch.value("type", Json()) == "null" || is_text(branch);
      };
      return std::ranges::all_of(schema[keyword], text);
    }
    return false;
  }

  /// A string that stands bare: its end is the first text that ends it.
  Result<std::string> text_value(const Json& given, const std::string& pointer,
                                 const std::string& rule) {
    const Json schema = followed(given);
    std::string terminal = rule;
    std::ranges::transform(terminal, terminal.begin(),
                           [](unsigned char c) { return std::toupper(c); });
    if (schema.contains("enum") || schema.contains("const")) {
      std::string options;
      for (const Json& value :
           schema.contains("const") ? Json::array({schema["const"]}) : schema["enum"]) {
        if (!value.is_string()) continue;
        options += fmt::format("{}{}", options.empty() ? "" : " | ", json_text(value));
      }
      if (options.empty()) return fail(cannot("enum", pointer_to(pointer, "enum"), dialect_.name));
      rules_ += fmt::format("{}: {}\n", terminal, options);
      return fmt::format("{} {}", terminal, lark_.literal(after_text()));
    }
    for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
      if (schema.contains(keyword)) return alternatives(schema, keyword, pointer, rule);
    }
    std::string regex = LarkWriter::text_before(ending());
    if (const auto pattern = schema.find("pattern"); pattern != schema.end()) {
      if (!pattern->is_string())
        return fail(cannot("pattern", pointer_to(pointer, "pattern"), dialect_.name));
      regex += fmt::format(" & {}", searched(pattern->get<std::string>()));
    }
    const Json least = schema.value("minLength", Json(0)), most = schema.value("maxLength", Json());
    if (least != 0 || !most.is_null()) {
      regex += fmt::format(" & /(?s:.{{{},{}}})/", json_text(least),
                           most.is_null() ? "" : json_text(most));
    }
    // Readers trim a value; one that is held to a form must not begin or end in what they take.
    if (schema.contains("pattern") || least != 0) regex += " & ~/\\s(?s:.*)/ & ~/(?s:.*)\\s/";
    return ended(terminal, regex, rules_);
  }

  /// The items of a terminal and what follows a value. The plain text of that is part of the
  /// terminal: the library's lexer takes the longest text and would not stop before it.
  std::string ended(const std::string& terminal, const std::string& regex,
                    std::string& rules) const {
    const auto [plain, rest] = lark_.split_literal(after_text());
    rules +=
        fmt::format("{}_BODY: {}\n{}: {}_BODY {}\n", terminal, regex, terminal, terminal, plain);
    return fmt::format("{} {}", terminal, rest);
  }

  /// One of several strings; branches that are null alone are left out.
  Result<std::string> alternatives(const Json& schema, const char* keyword,
                                   const std::string& pointer, const std::string& rule) {
    const Json& list = schema[keyword];
    const bool all = std::string_view(keyword) == "allOf";
    if (!list.is_array() || (all && list.size() != 1)) {
      return fail(cannot(keyword, pointer_to(pointer, keyword), dialect_.name));
    }
    std::string options;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (followed(list[i]).value("type", Json()) == "null") continue;
      const auto at = pointer_to(pointer_to(pointer, keyword), std::to_string(i));
      auto option = text_value(list[i], at, fmt::format("{}_{}", rule, i));
      if (!option) return option;
      options += fmt::format("{}{}", options.empty() ? "" : " | ", *option);
    }
    if (options.empty()) return fail(cannot(keyword, pointer_to(pointer, keyword), dialect_.name));
    return fmt::format("({})", options);
  }

  Json followed(Json schema) {
    for (int hops = 0; hops < 16 && schema.is_object() && schema.contains("$ref"); ++hops) {
      const Json& ref = schema["$ref"];
      const auto pointer =
          ref.is_string() ? local_pointer(schema_, ref.get<std::string>()) : std::nullopt;
      if (!pointer) break;
      schema = Json(*resolve_pointer(schema_, *pointer));
    }
    return schema.is_object() ? schema : Json::object();
  }

  /// What follows a string's text.
  std::string_view after_text() const {
    const auto& shape = dialect_.parameter;
    return shape.string_quote.empty() ? shape.after_value : shape.string_quote;
  }

  /// The text that ends a string, without white space.
  std::string_view ending() const {
    const std::string_view text = after_text();
    const auto first = text.find_first_not_of(" \n");
    return text.substr(first == text.npos ? 0 : first, text.find_last_not_of(" \n") - first + 1);
  }

  /// Parameters in order, those that are not required left out or not.
  void write_order() {
    const auto between = lark_.literal(dialect_.parameter.between);
    const int count = int(parameters_.size());
    rules_ += fmt::format("{}: {}_first0\n{}_first{}: \"\"\n{}_more{}: \"\"\n", name_, name_, name_,
                          count, name_, count);
    for (int i = count - 1; i >= 0; --i) {
      const auto& [rule, required] = parameters_[i];
      const std::string next = fmt::format("{} {}_more{}", rule, name_, i + 1);
      rules_ += fmt::format("{}_first{}: {}{}\n", name_, i, next,
                            required ? "" : fmt::format(" | {}_first{}", name_, i + 1));
      rules_ += fmt::format("{}_more{}: {} {}{}\n", name_, i, between, next,
                            required ? "" : fmt::format(" | {}_more{}", name_, i + 1));
    }
  }

  /// Of a tool whose schema is not held: parameters of any name and text.
  std::string any_parameters() {
    const auto& shape = dialect_.parameter;
    std::string terminal = name_;
    std::ranges::transform(terminal, terminal.begin(),
                           [](unsigned char c) { return std::toupper(c); });
    std::string rules = fmt::format("{}_KEY: /[A-Za-z0-9_.-]+/\n", terminal);
    std::string value = ended(terminal + "_TEXT", LarkWriter::text_before(ending()), rules);
    if (dialect_.form == ArgumentForm::pythonic) value = "%json {}";
    if (dialect_.form == ArgumentForm::gemma) {
      rules += fmt::format("{}_SCALAR: /-?[0-9]+(\\.[0-9]+)?|true|false|null/\n", terminal);
      value =
          fmt::format("({} {} | {}_SCALAR)", lark_.literal(shape.string_quote), value, terminal);
    }
    const auto one = fmt::format("{} {}_KEY {} {}", lark_.literal(shape.before_key), terminal,
                                 lark_.literal(shape.after_key), value);
    return fmt::format("{}{}: (({}) ({} {})*)?\n", rules, name_, one, lark_.literal(shape.between),
                       one);
  }

  const LarkWriter& lark_;
  const Dialect& dialect_;
  const CallableTool& tool_;
  const std::string name_;
  Json schema_;
  const ToolSet known_;
  std::vector<Parameter> parameters_;
  std::string rules_;
};

}  // namespace

Result<std::string> argument_rules(const LarkWriter& lark, const Dialect& dialect,
                                   const CallableTool& tool, const std::string& name) {
  const Json schema = object_schema(tool);
  if (dialect.form == ArgumentForm::json) {
    auto json = lark.json(schema, true);
    if (!json) return at_tool(json.error(), tool);
    return fmt::format("{}: {}\n", name, *json);
  }
  if (auto checked = lark.json(schema, true); !checked) return at_tool(checked.error(), tool);
  return ParameterRules(lark, dialect, tool, name).run();
}

}  // namespace hearth::text
