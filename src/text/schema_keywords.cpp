#include "text/schema_keywords.h"

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {
namespace {

constexpr std::string_view applicators[] = {"allOf", "anyOf", "oneOf", "$ref"};
constexpr std::string_view without_effect[] = {"deprecated",     "contentSchema",    "$vocabulary",
                                               "$dynamicAnchor", "$recursiveAnchor", "minContains",
                                               "maxContains",    "x-guidance",       "$comment"};
constexpr std::string_view known_formats[] = {"date-time", "date", "time", "duration", "email",
                                              "hostname",  "ipv4", "ipv6", "uuid",     "uri"};

struct TypeKeywords {
  const char* type;
  std::vector<std::string_view> keywords;
};
const std::array<TypeKeywords, 4> type_keywords{{
    {"object",
     {"properties", "patternProperties", "additionalProperties", "required", "minProperties",
      "maxProperties"}},
    {"array", {"items", "prefixItems", "additionalItems", "minItems", "maxItems"}},
    {"string", {"pattern", "minLength", "maxLength", "format"}},
    {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}};

bool is_trivial(const Json& schema) {
  return schema == true || (schema.is_object() && schema.empty());
}

template <class Names>
bool has_any(const Json& schema, const Names& names) {
  for (const auto name : names) {
    if (schema.contains(name)) return true;
  }
  return false;
}

/// Without applicators beside it, "unevaluated" is what "additional" is.
void close_unevaluated(Json& schema, const char* name, const char* plain) {
  if (!schema.contains(name) || schema.contains(plain) || has_any(schema, applicators)) return;
  if (schema.contains("if")) return;
  schema[plain] = schema[name];
  schema.erase(name);
}

}  // namespace

bool has_control_character(const Json& value) {
  if (value.is_string()) {
    for (const unsigned char c : value.get_ref<const std::string&>()) {
      const bool short_escape = c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f';
      if ((c < 0x20 && !short_escape) || c == 0x7f) return true;
    }
    return false;
  }
  for (const Json& item : value) {
    if (value.is_structured() && has_control_character(item)) return true;
  }
  return false;
}

bool is_exact_step(const Json& value) {
  if (!value.is_number()) return true;  // the grammar library's to refuse
  const double step = std::abs(value.get<double>()) * 1024;
  return std::trunc(step) == step && step < 0x1p53;
}

bool joins(const Json& schema) {
  int structural = 0;
  for (const auto name : applicators) structural += schema.contains(name);
  if (schema.contains("allOf") && schema["allOf"].is_array() && schema["allOf"].size() > 1)
    return true;
  for (const auto& row : type_keywords) structural += has_any(schema, row.keywords);
  return structural > 1;
}

void drop_what_is_trivial(Json& schema) {
  for (const auto name : without_effect) schema.erase(std::string(name));
  for (const char* name : {"unevaluatedProperties", "unevaluatedItems", "propertyNames"}) {
    const auto found = schema.find(name);
    if (found == schema.end()) continue;
    Json rest = *found;
    if (rest.is_object()) {
      for (const char* word : {"description", "title"}) rest.erase(word);
      if (std::string_view(name) == "propertyNames" && rest.value("type", Json()) == "string")
        rest.erase("type");
    }
    if (is_trivial(rest)) schema.erase(name);
  }
  const Json most = schema.value("maxItems", Json());
  if (schema.value("uniqueItems", Json()) == false || (most.is_number() && most <= 1)) {
    schema.erase("uniqueItems");
  }
  if (!schema.contains("if")) {
    schema.erase("then");
    schema.erase("else");
  } else if (!schema.contains("then") && !schema.contains("else")) {
    schema.erase("if");
  }
  if (const auto format = schema.find("format"); format != schema.end()) {
    bool known = false;
    for (const auto name : known_formats) known = known || *format == name;
    if (!known) schema.erase("format");
  }
  close_unevaluated(schema, "unevaluatedProperties", "additionalProperties");
  close_unevaluated(schema, "unevaluatedItems", "items");
}

void narrow(Json& schema) {
  if (!schema.contains("type") && !has_any(schema, applicators) && !schema.contains("const") &&
      !schema.contains("enum")) {
    for (const auto& row : type_keywords) {
      if (has_any(schema, row.keywords)) schema["type"] = row.type;
    }
  }
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->is_object() && !properties->empty() &&
      !schema.contains("additionalProperties") && !schema.contains("patternProperties")) {
    schema["additionalProperties"] = false;
  }
}

}  // namespace hearth::text
