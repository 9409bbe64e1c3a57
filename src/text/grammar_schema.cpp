#include "text/grammar_schema.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "text/schema_keywords.h"
#include "text/schema_ref.h"

namespace hearth::text {
namespace {

/// Between two tokens of JSON: a blank or two, or a new line with a few.
constexpr const char* few_blanks = R"([ ]{1,2}|\n[ \t]{0,3}|\t)";
/// All short escapes, but no \uXXXX: it could spell a named key in a second way.
constexpr const char* short_escapes = R"(nrbtf\")";

constexpr std::string_view lists_of_schemas[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
constexpr std::string_view maps_of_schemas[] = {"properties", "patternProperties"};
constexpr std::string_view single_schemas[] = {"items", "additionalItems", "additionalProperties"};
constexpr std::string_view always_refused[] = {
    "not",          "contains",    "dependentRequired", "dependentSchemas",
    "dependencies", "$dynamicRef", "$recursiveRef"};

class Holder {
 public:
  Holder(const Json& schema, Narrowing narrowing)
      : root_(schema), usual_(narrowing == Narrowing::usual) {}

  Result<Json> run() {
    if (root_.is_boolean()) {
      if (root_ == true) return Json::object();
      return refused("false", "", "nothing matches it");
    }
    find_composed(root_, false);
    walk(root_, "", false);
    while (!error_ && !pending_.empty()) {
      const std::string pointer = pending_.back();
      pending_.pop_back();
      Json* target = resolve_pointer(root_, pointer);
      walk(*target, pointer, composed_.contains(pointer));
    }
    if (error_) return fail(*error_);
    return root_;
  }

 private:
  tl::unexpected<Error> refused(std::string_view keyword, const std::string& at,
                                std::string_view why) {
    error_ = Error{ErrorCode::invalid_schema,
                   fmt::format("\"{}\" at {}: {}", keyword, at.empty() ? "/" : at, why), at};
    return fail(*error_);
  }
  void refuse(std::string_view keyword, const std::string& parent, std::string_view why) {
    if (!error_) refused(keyword, pointer_to(parent, keyword), why);
  }

  /// Notes the targets of references that are joined with other keywords: those must stay as open
  /// as they are written.
  void find_composed(const Json& schema, bool composed) {
    if (schema.is_array()) {
      for (const Json& item : schema) find_composed(item, composed);
    }
    if (!schema.is_object()) return;
    const bool joined = composed || joins(schema);
    if (const auto ref = schema.find("$ref"); joined && ref != schema.end() && ref->is_string()) {
      if (const auto target = local_pointer(root_, ref->get<std::string>())) {
        composed_.insert(*target);
      }
    }
    for (const auto& [key, value] : schema.items()) {
      if (value.is_structured())
        find_composed(value, key == "allOf" || (joined && key != "properties"));
    }
  }

  void walk(Json& schema, const std::string& at, bool composed) {
    if (error_ || !visited_.insert(at).second || schema.is_boolean()) return;
    if (!schema.is_object()) {
      refused(schema.type_name(), at, "a schema is an object or a boolean");
      return;
    }
    drop_what_is_trivial(schema);
    check(schema, at);
    if (error_) return;
    const bool joined = composed || joins(schema);
    if (usual_ && !joined) narrow(schema);
    if (!usual_) schema.erase("format");
    descend(schema, at, joined);
  }

  void check(const Json& schema, const std::string& at) {
    constexpr std::string_view cannot = "this keyword cannot be held by a grammar";
    for (const auto name : always_refused) {
      if (schema.contains(name)) refuse(name, at, cannot);
    }
    for (const char* name : {"if", "unevaluatedProperties", "unevaluatedItems", "propertyNames"}) {
      if (schema.contains(name)) refuse(name, at, cannot);
    }
    if (schema.contains("uniqueItems")) refuse("uniqueItems", at, cannot);
    for (const char* name : {"const", "enum"}) {
      if (schema.contains(name) && has_control_character(schema[name])) {
        refuse(name, at, "a string has a control character, which the grammar cannot spell");
      }
    }
    if (const auto step = schema.find("multipleOf");
        step != schema.end() && !is_exact_step(*step)) {
      refuse("multipleOf", at, "multiples of a decimal fraction are not exact");
    }
    if (const auto pattern = schema.find("pattern"); pattern != schema.end())
      check_pattern(*pattern, at);
    if (const auto ref = schema.find("$ref"); ref != schema.end()) check_ref(*ref, at);
    check_id(schema, at);
    check_count(schema, at);
  }

  /// Sets inside a class are what JSON Schema's dialect of regular expressions does not have.
  void check_pattern(const Json& pattern, const std::string& at) {
    if (!pattern.is_string()) return refuse("pattern", at, "it is not a string");
    const auto& text = pattern.get_ref<const std::string&>();
    for (const char* set : {"&&", "~~"}) {
      const auto open = text.find('[');
      if (open != text.npos && text.find(set, open) != text.npos) {
        refuse("pattern", at, fmt::format("\"{}\" inside a class is not supported", set));
      }
    }
  }

  void check_ref(const Json& ref, const std::string& at) {
    if (!ref.is_string()) return refuse("$ref", at, "it is not a string");
    const auto target = local_pointer(root_, ref.get<std::string>());
    if (!target) {
      return refuse("$ref", at, fmt::format("{} leads nowhere within the schema", ref.dump()));
    }
    pending_.push_back(*target);
  }

  /// An identifier below the root would move the base of the references below it.
  void check_id(const Json& schema, const std::string& at) {
    const auto id = schema.find("$id");
    if (at.empty() || id == schema.end() || !id->is_string()) return;
    if (dump(schema).find("\"$ref\"") != std::string::npos) {
      refuse("$id", at, "references below a second identifier are not supported");
    }
  }

  /// Keys that are not named may come twice; a reader counts them once.
  void check_count(const Json& schema, const std::string& at) {
    const Json least = schema.value("minProperties", Json());
    if (!least.is_number() || least < 2) return;
    const Json required = schema.value("required", Json::array());
    const bool closed = schema.value("additionalProperties", Json()) == false &&
                        !schema.contains("patternProperties");
    if (!closed && least > required.size() + 1) {
      refuse("minProperties", at, "keys that no keyword names cannot be counted");
    }
  }

  static std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void descend(Json& schema, const std::string& at, bool joined) {
    for (const auto name : lists_of_schemas) {
      if (schema.contains(name))
        walk_list(name, schema[std::string(name)], at, joined && name != "prefixItems");
    }
    for (const auto name : maps_of_schemas) {
      if (!schema.contains(name)) continue;
      Json& map = schema[std::string(name)];
      if (!map.is_object()) return refuse(name, at, "it is not an object");
      const auto below = pointer_to(at, name);
      for (auto& [key, value] : map.items()) walk(value, pointer_to(below, key), false);
    }
    for (const auto name : single_schemas) {
      if (!schema.contains(name)) continue;
      Json& one = schema[std::string(name)];
      if (one.is_array()) {
        walk_list(name, one, at, false);
      } else {
        walk(one, pointer_to(at, name), false);
      }
    }
  }

  void walk_list(std::string_view name, Json& list, const std::string& at, bool joined) {
    if (!list.is_array()) return refuse(name, at, "it is not an array");
    const auto below = pointer_to(at, name);
    const bool all = name == "allOf" && list.size() > 1;
    for (std::size_t i = 0; i < list.size(); ++i) {
      walk(list[i], pointer_to(below, std::to_string(i)), joined || all);
    }
  }

  Json root_;
  const bool usual_;
  std::optional<Error> error_;
  std::set<std::string> visited_, composed_;
  std::vector<std::string> pending_;  // pointers that references lead to
};

}  // namespace

std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string pointer = fmt::format("{}/", parent);
  for (const char c : key) {
    if (c == '~' || c == '/') {
      pointer += c == '~' ? "~0" : "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

Result<Json> hold_schema(const Json& schema, const SchemaOptions& options, Narrowing narrowing) {
  if (!schema.is_object() && !schema.is_boolean()) {
    return fail(ErrorCode::invalid_schema,
                fmt::format("the schema is a JSON {}, expected an object or a boolean",
                            schema.type_name()));
  }
  auto held = Holder(local_references(schema), narrowing).run();
  if (!held) return held;
  Json guidance{{"json_allowed_escapes", short_escapes},
                {"whitespace_flexible", options.any_whitespace}};
  if (options.any_whitespace) guidance["whitespace_pattern"] = few_blanks;
  (*held)["x-guidance"] = std::move(guidance);
  return held;
}

}  // namespace hearth::text
