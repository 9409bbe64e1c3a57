#include "text/dialect/tool_set.h"

#include <algorithm>

namespace hearth::text {
namespace {

/// `type` of a schema as a list of names.
std::vector<std::string> types_of(const Json& schema) {
  std::vector<std::string> types;
  const auto type = schema.find("type");
  if (type == schema.end()) return types;
  for (const Json& name : type->is_array() ? *type : Json::array({*type})) {
    if (name.is_string()) types.push_back(name);
  }
  return types;
}

bool is_text(const Json& value) { return value.is_string() || value.is_null(); }

/// Every value that the schema allows is a string or null.
bool takes_text_only(const Json& schema) {
  if (!schema.is_object()) return false;
  if (const auto types = types_of(schema); !types.empty()) {
    return std::ranges::count(types, "string") > 0 &&
           std::ranges::all_of(types, [](const auto& t) { return t == "string" || t == "null"; });
  }
  if (const auto list = schema.find("enum"); list != schema.end() && list->is_array()) {
    return !list->empty() && std::ranges::all_of(*list, is_text);
  }
  if (const auto only = schema.find("const"); only != schema.end()) return is_text(*only);
  for (const char* key : {"anyOf", "oneOf"}) {
    const auto list = schema.find(key);
    if (list == schema.end() || !list->is_array() || list->empty()) continue;
    const auto text = [](const Json& s) {
      return takes_text_only(s) ||
             (s.is_object() && types_of(s) == std::vector<std::string>{"null"});
    };
    return std::ranges::any_of(*list, takes_text_only) && std::ranges::all_of(*list, text);
  }
  return false;
}

/// `schema` with a reference to elsewhere in `root` followed.
const Json& resolved(const Json& schema, const Json& root) {
  const Json* at = &schema;
  for (int hops = 0; hops < 16; ++hops) {
    const auto ref = at->is_object() ? at->find("$ref") : at->end();
    if (!at->is_object() || ref == at->end() || !ref->is_string()) return *at;
    const auto& text = ref->get_ref<const std::string&>();
    if (!text.starts_with("#")) return *at;
    try {
      at = &root.at(Json::json_pointer(text.substr(1)));
    } catch (const Json::exception&) {
      return *at;  // it points nowhere
    }
  }
  return *at;
}

}  // namespace

ToolSet::ToolSet(const Json& tools, const std::vector<std::string>& names) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    const Json& function = tool.at("function");
    const std::string name = function.at("name");
    if (!names.empty() && std::ranges::count(names, name) == 0) continue;
    tools_.push_back({name, function.value("parameters", Json())});
  }
}

const ToolSet::Tool* ToolSet::find(std::string_view name) const {
  const auto found = std::ranges::find(tools_, name, &Tool::name);
  return found == tools_.end() ? nullptr : &*found;
}

Json ToolSet::value(std::string_view tool, std::string_view parameter,
                    std::string_view text) const {
  if (const Tool* known = find(tool); known && known->parameters.is_object()) {
    const auto properties = known->parameters.find("properties");
    if (properties != known->parameters.end() && properties->is_object()) {
      const auto schema = properties->find(parameter);
      if (schema != properties->end() && takes_text_only(resolved(*schema, known->parameters))) {
        return std::string(text);
      }
    }
  }
  if (auto parsed = parse_json(text)) return std::move(*parsed);
  if (text == "True") return true;
  if (text == "False") return false;
  if (text == "None") return nullptr;
  return std::string(text);
}

}  // namespace hearth::text
