#include "text/schema_ref.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "text/grammar_schema.h"

namespace hearth::text {
namespace {

template <class Visit>
void each_reference(Json& schema, const Visit& visit) {
  if (schema.is_object()) {
    const auto ref = schema.find("$ref");
    if (ref != schema.end() && ref->is_string()) visit(ref->get_ref<std::string&>());
  }
  if (!schema.is_structured()) return;
  for (Json& item : schema) each_reference(item, visit);
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      out += char(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// The steps of a pointer, unescaped.
std::vector<std::string> steps_of(std::string_view pointer) {
  std::vector<std::string> steps;
  for (std::size_t at = 0; at < pointer.size();) {
    const auto end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string step;
    for (std::size_t i = at + 1; i < end; ++i) {
      const bool escape = pointer[i] == '~' && i + 1 < end;
      step += escape ? (pointer[++i] == '1' ? '/' : '~') : pointer[i];
    }
    steps.push_back(std::move(step));
    at = end;
  }
  return steps;
}

std::optional<std::string> find_anchor(const Json& schema, const std::string& name,
                                       const std::string& at) {
  if (schema.is_object()) {
    const auto anchor = schema.find("$anchor");
    if (anchor != schema.end() && *anchor == name) return at;
    for (const auto& [key, value] : schema.items()) {
      if (auto found = find_anchor(value, name, pointer_to(at, key))) return found;
    }
  } else if (schema.is_array()) {
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (auto found = find_anchor(schema[i], name, pointer_to(at, std::to_string(i))))
        return found;
    }
  }
  return std::nullopt;
}

}  // namespace

Json local_references(Json schema) {
  if (!schema.is_object()) return schema;
  std::string id;
  for (const char* name : {"$id", "id"}) {
    const auto found = schema.find(name);
    if (found == schema.end() || !found->is_string()) continue;
    id = found->get<std::string>();
    schema.erase(name);
  }
  if (!id.empty() && id.back() == '#') id.pop_back();
  each_reference(schema, [&](std::string& ref) {
    if (!id.empty() && ref.starts_with(id))
      ref = fmt::format("#{}", ref.substr(std::min(ref.size(), id.size() + 1)));
  });
  return schema;
}

Json* resolve_pointer(Json& root, std::string_view pointer) {
  Json* at = &root;
  for (const auto& step : steps_of(pointer)) {
    if (at->is_object()) {
      const auto found = at->find(step);
      if (found == at->end()) return nullptr;
      at = &*found;
    } else if (at->is_array()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
      if (error != std::errc() || end != step.data() + step.size() || index >= at->size())
        return nullptr;
      at = &(*at)[index];
    } else {
      return nullptr;
    }
  }
  return at;
}

std::optional<std::string> local_pointer(const Json& root, std::string_view reference) {
  if (!reference.starts_with('#')) return std::nullopt;
  const std::string fragment = percent_decoded(reference.substr(1));
  if (!fragment.empty() && fragment[0] != '/') return find_anchor(root, fragment, "");
  if (!resolve_pointer(const_cast<Json&>(root), fragment)) return std::nullopt;
  return fragment;
}

void prefix_references(Json& schema, std::string_view prefix) {
  each_reference(schema, [&](std::string& ref) {
    if (ref == "#" || ref.starts_with("#/")) ref = fmt::format("#{}{}", prefix, ref.substr(1));
  });
}

}  // namespace hearth::text
