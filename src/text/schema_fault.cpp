// Compiling a held schema, and, where the library refuses it, finding the keyword it refuses.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "text/grammar_schema.h"
#include "text/schema_ref.h"

namespace hearth::text {
namespace {

constexpr int most_tries = 400;
constexpr std::size_t longest_words = 200;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The library's words on one line, without what it prints of its own state.
std::string short_words(std::string words) {
  if (const auto end = words.find('\n'); end != words.npos) words.resize(end);
  if (words.size() > longest_words) words = words.substr(0, longest_words) + "...";
  return words;
}

class FaultFinder {
 public:
  FaultFinder(const Grammars& grammars, Json held) : grammars_(grammars), held_(std::move(held)) {
    guidance_ = held_["x-guidance"];
    held_.erase("x-guidance");
    prefix_references(held_, "/$defs/whole");
  }

  /// The deepest schema that the library refuses, and its keyword.
  Error find(const Error& whole) {
    Error error = whole;
    error.message = short_words(error.message);
    visit("");
    if (!deepest_) return error;
    error.message = short_words(words_);
    const Json* schema = resolve_pointer(held_, *deepest_);
    error.param = *deepest_;
    std::string keyword = "schema";
    std::vector<std::string> keywords;
    for (const auto& [key, value] : schema->items()) keywords.push_back(key);
    // Without its type a schema forbids little: any other keyword that helps is more to blame.
    std::ranges::stable_partition(keywords, [](const auto& key) { return key != "type"; });
    for (const auto& name : keywords) {
      if (!compiles_without(*deepest_, name)) continue;
      keyword = name;
      error.param = pointer_to(*deepest_, name);
      break;
    }
    error.message = fmt::format("\"{}\" at {}: {}", keyword,
                                error.param.empty() ? "/" : error.param, error.message);
    return error;
  }

 private:
  std::optional<std::string> refusal(const Json& whole, const std::string& pointer) {
    ++tries_;
    const Json schema{{"$ref", "#/$defs/whole" + pointer},
                      {"$defs", {{"whole", whole}}},
                      {"x-guidance", guidance_}};
    auto made = grammars_.matcher(GrammarKind::json_schema, dump(schema));
    if (made) return std::nullopt;
    return made.error().message;
  }

  bool compiles_without(const std::string& pointer, const std::string& keyword) {
    if (tries_ > most_tries) return false;
    Json whole = held_;
    resolve_pointer(whole, pointer)->erase(keyword);
    return !refusal(whole, pointer);
  }

  /// Schemas below first, so that the first one refused is a deepest one.
  void visit(const std::string& at) {
    const Json* schema = resolve_pointer(held_, at);
    if (!schema->is_object()) return;
    for (const char* name : {"properties", "patternProperties", "$defs", "definitions"}) {
      if (schema->contains(name)) visit_all((*schema)[name], pointer_to(at, name));
    }
    for (const char* name : {"allOf", "anyOf", "oneOf", "prefixItems"}) {
      if (schema->contains(name)) visit_all((*schema)[name], pointer_to(at, name));
    }
    for (const char* name : {"items", "additionalItems", "additionalProperties"}) {
      if (!schema->contains(name)) continue;
      const Json& below = (*schema)[name];
      if (below.is_array()) visit_all(below, pointer_to(at, name));
      if (below.is_object()) visit(pointer_to(at, name));
    }
    if (deepest_ || tries_ > most_tries) return;
    if (auto words = refusal(held_, at)) {
      deepest_ = at;
      words_ = std::move(*words);
    }
  }

  void visit_all(const Json& schemas, const std::string& at) {
    std::size_t index = 0;
    for (const auto& [key, value] : schemas.items()) {
      const auto step = schemas.is_array() ? std::to_string(index++) : key;
      if (value.is_object() && !deepest_ && tries_ <= most_tries) visit(pointer_to(at, step));
    }
  }

  const Grammars& grammars_;
  Json held_, guidance_;
  int tries_ = 0;
  std::optional<std::string> deepest_;
  std::string words_;
};

}  // namespace

Result<Json> compiled_schema(const Grammars& grammars, const Json& schema,
                             const SchemaOptions& options) {
  auto held = hold_schema(schema, options, Narrowing::usual);
  if (!held) return held;
  if (grammars.matcher(GrammarKind::json_schema, dump(*held))) return held;
  held = hold_schema(schema, options, Narrowing::none);
  if (!held) return held;
  if (auto made = grammars.matcher(GrammarKind::json_schema, dump(*held)); !made) {
    return fail(FaultFinder(grammars, *held).find(made.error()));
  }
  return held;
}

Result<Matcher> schema_matcher(const Grammars& grammars, const Json& schema,
                               const SchemaOptions& options) {
  auto held = compiled_schema(grammars, schema, options);
  if (!held) return fail(held.error());
  return grammars.matcher(GrammarKind::json_schema, dump(*held));
}

}  // namespace hearth::text
