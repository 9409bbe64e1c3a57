#include "services/chat/tool_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "services/chat/fields.h"

namespace hearth::services {
namespace {

using Mode = ToolChoice::Mode;

constexpr std::string_view forms =
    R"("auto", "none", "required", {"type":"function","function":{"name":...}}, )"
    R"({"type":"custom","custom":{"name":...}} or )"
    R"({"type":"allowed_tools","allowed_tools":{"mode":...,"tools":[...]}})";

constexpr std::array<std::pair<std::string_view, Mode>, 3> modes{{
    {"auto", Mode::automatic},
    {"none", Mode::none},
    {"required", Mode::required},
}};

const Mode* find_mode(const Json& word) {
  const auto found = std::ranges::find_if(modes, [&](const auto& m) { return word == m.first; });
  return found == modes.end() ? nullptr : &found->second;
}

/// Of {"function":{"name"}}, {"custom":{"name"}} or {"name"}.
const Json* name_in(const Json& tool) {
  if (!tool.is_object()) return nullptr;
  const Json* nested = field(tool, "function");
  if (!nested) nested = field(tool, "custom");
  const Json* name = field(nested && nested->is_object() ? *nested : tool, "name");
  return name && name->is_string() ? name : nullptr;
}

Result<ToolChoice> allowed_tools(const Json& choice, std::string_view where) {
  const Json* nested = field(choice, "allowed_tools");
  const Json& allowed = nested && nested->is_object() ? *nested : choice;
  const Json* mode = field(allowed, "mode");
  const Mode* known = mode ? find_mode(*mode) : &modes[0].second;
  const Json* list = field(allowed, "tools");
  if (!known || *known == Mode::none || !list || !list->is_array() || list->empty()) {
    return fail(wrong_value(where, choice, forms));
  }
  ToolChoice out{.mode = *known};
  for (const Json& tool : *list) {
    const Json* name = name_in(tool);
    if (!name) return fail(wrong_value(where, choice, forms));
    out.names.push_back(*name);
  }
  return out;
}

Result<ToolChoice> choice_of(const Json& choice, std::string_view where) {
  if (choice.is_string()) {
    if (const Mode* mode = find_mode(choice)) return ToolChoice{.mode = *mode};
  } else if (choice.is_object()) {
    const Json* type = field(choice, "type");
    if (type && *type == "allowed_tools") return allowed_tools(choice, where);
    const Json* name = name_in(choice);
    if (name && (!type || *type == "function" || *type == "custom")) {
      return ToolChoice{.mode = Mode::required, .names = {name->get<std::string>()}};
    }
  }
  return fail(wrong_value(where, choice, forms));
}

Result<void> check_names(const ToolChoice& choice, const Json& tools, const std::string& where) {
  if (choice.mode == Mode::required && !tools.is_array()) {
    return fail(ErrorCode::invalid_request,
                fmt::format("`{}` demands a call, but the request has no tools", where), where);
  }
  for (const auto& name : choice.names) {
    const bool known = tools.is_array() && std::ranges::any_of(tools, [&](const Json& tool) {
                         return tool["function"]["name"] == name;
                       });
    if (known) continue;
    return fail(ErrorCode::invalid_request,
                fmt::format("`{}` names \"{}\", which is not among the tools", where, name), where);
  }
  return {};
}

}  // namespace

Result<ToolChoice> read_tool_choice(const Json& body, const Json& tools) {
  ToolChoice out;
  for (const char* where : {"tool_choice", "function_call"}) {
    const Json* sent = field(body, where);
    if (!sent) continue;
    auto choice = choice_of(*sent, where);
    if (!choice) return choice;
    if (auto checked = check_names(*choice, tools, where); !checked) return fail(checked.error());
    out = std::move(*choice);
    break;
  }
  auto parallel = read_bool(body, "parallel_tool_calls");
  if (!parallel) return fail(parallel.error());
  // The older answer has room for one call.
  out.parallel = parallel->value_or(!field(body, "functions"));
  return out;
}

}  // namespace hearth::services
