// Tools of the Responses wire. They are flat.
#include <fmt/format.h>

#include <array>

#include "services/chat/custom_tool.h"
#include "services/chat/fields.h"
#include "services/chat/normalise.h"
#include "services/chat/responses.h"

namespace hearth::services {
namespace {

Json function_tool(Json function) {
  return {{"type", "function"}, {"function", std::move(function)}};
}

/// As the response says it again: with what its clients expect to find.
Json function_echo(const Json& tool) {
  Json echo = tool;
  if (!field(tool, "parameters")) echo["parameters"] = nullptr;
  if (!field(tool, "strict")) echo["strict"] = false;
  return echo;
}

Result<void> add_tool(const Json& tool, const std::string& where, ResponsesTools& out) {
  const Json* type = tool.is_object() ? field(tool, "type") : nullptr;
  if (!type || !type->is_string()) return fail(wrong_value(where, tool, "an object with a type"));
  if (*type != "function" && *type != "custom") return {};
  const Json* name = field(tool, "name");
  if (!name || !name->is_string()) {
    return fail(wrong_value(where + ".name", name ? *name : Json(), "a string"));
  }
  if (*type == "custom") {
    auto function = custom_tool_function(tool, where);
    if (!function) return fail(function.error());
    out.custom.insert(name->get<std::string>());
    out.functions.push_back(std::move(*function));
    out.echo.push_back(tool);
    return {};
  }
  const Json* parameters = field(tool, "parameters");
  if (parameters && !parameters->is_object()) {
    return fail(wrong_value(where + ".parameters", *parameters, "a JSON schema object"));
  }
  Json function{{"name", *name}};
  for (const char* kept : {"description", "parameters", "strict"}) {
    if (const Json* value = field(tool, kept)) function[kept] = *value;
  }
  out.functions.push_back(function_tool(std::move(function)));
  out.echo.push_back(function_echo(tool));
  return {};
}

constexpr std::string_view choice_forms =
    "\"auto\", \"none\", \"required\", {\"type\":\"function\",\"name\":...}, "
    "{\"type\":\"custom\",\"name\":...} or "
    "{\"type\":\"allowed_tools\",\"mode\":...,\"tools\":[...]}";

Error wrong_choice(const Json& choice) { return wrong_value("tool_choice", choice, choice_forms); }

Result<ToolChoice::Mode> choice_mode(const Json& word, const Json& whole) {
  if (word == "auto") return ToolChoice::Mode::automatic;
  if (word == "none") return ToolChoice::Mode::none;
  if (word == "required") return ToolChoice::Mode::required;
  return fail(wrong_choice(whole));
}

/// Names of the allowed tools that are here; others ran on OpenAI's servers.
Result<void> read_allowed(const Json& sent, const Json& functions, ToolChoice& choice) {
  const Json* tools = field(sent, "tools");
  const Json* word = field(sent, "mode");
  if (!tools || !tools->is_array()) return fail(wrong_choice(sent));
  auto mode = choice_mode(word ? *word : Json("auto"), sent);
  if (!mode) return fail(mode.error());
  choice.mode = *mode;
  for (const Json& tool : *tools) {
    const Json* type = tool.is_object() ? field(tool, "type") : nullptr;
    if (!type) return fail(wrong_choice(sent));
    if (*type != "function" && *type != "custom") continue;
    const Json* name = field(tool, "name");
    if (!name || !name->is_string()) return fail(wrong_choice(sent));
    choice.names.push_back(name->get<std::string>());
  }
  if (choice.names.empty() && !functions.empty()) choice.mode = ToolChoice::Mode::none;
  return {};
}

}  // namespace

Result<ResponsesTools> responses_tools(const Json& body) {
  ResponsesTools out;
  const Json* sent = field(body, "tools");
  if (!sent) return out;
  if (!sent->is_array()) return fail(wrong_value("tools", *sent, "an array"));
  for (std::size_t i = 0; i < sent->size(); ++i) {
    auto added = add_tool((*sent)[i], fmt::format("tools[{}]", i), out);
    if (!added) return fail(added.error());
  }
  auto checked = normalise_tools(out.functions);
  if (!checked) return fail(checked.error());
  return out;
}

Result<ToolChoice> responses_tool_choice(const Json& body, const Json& functions) {
  ToolChoice choice;
  auto parallel = read_bool(body, "parallel_tool_calls");
  if (!parallel) return fail(parallel.error());
  choice.parallel = parallel->value_or(true);
  const Json* sent = field(body, "tool_choice");
  if (!sent) return choice;
  if (sent->is_string()) {
    auto mode = choice_mode(*sent, *sent);
    if (!mode) return fail(mode.error());
    choice.mode = *mode;
  } else {
    const Json* type = sent->is_object() ? field(*sent, "type") : nullptr;
    const Json* name = type ? field(*sent, "name") : nullptr;
    if (type && *type == "allowed_tools") {
      if (auto read = read_allowed(*sent, functions, choice); !read) return fail(read.error());
    } else if (type && (*type == "function" || *type == "custom") && name && name->is_string()) {
      choice.mode = ToolChoice::Mode::required;
      choice.names = {name->get<std::string>()};
    } else {
      return fail(wrong_choice(*sent));
    }
  }
  if (auto ok = check_tool_choice(choice, functions); !ok) return fail(ok.error());
  return choice;
}

}  // namespace hearth::services
