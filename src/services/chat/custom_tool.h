// OpenAI's custom tools, which take free text: to the model such a tool is a function of one
// string.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth::services {

/// The function tool that stands for a custom one. A regular expression holds the text; a Lark
/// grammar is told to the model with the tool's description.
/// @param tool   {"name","description"?,"format"?}; a format is {"type":"text"}, or
///               {"type":"grammar"} with "syntax" and "definition", flat or within "grammar"
/// @param where  its place in the body
/// Errors: invalid_request naming the field.
Result<Json> custom_tool_function(const Json& tool, const std::string& where);

/// Arguments that stand for a custom tool's text, and the text that arguments stand for.
Json custom_arguments(std::string_view text);
std::string custom_text(const std::string& arguments);

/// Whether a call of that name is a custom tool's. @param names  array of those that are; or null
bool is_custom_tool(const Json& names, std::string_view name);

}  // namespace hearth::services
