// The arguments of a tool call as grammar rules, in each of the dialects' forms.
#pragma once

#include <string>

#include "text/call_grammar.h"

namespace hearth::text {

/// Lark rules of which `name` matches the tool's arguments as the dialect writes them.
/// Errors: invalid_schema, `param` the tool's with the keyword's pointer behind it.
Result<std::string> argument_rules(const LarkWriter& lark, const Dialect& dialect,
                                   const CallableTool& tool, const std::string& name);

}  // namespace hearth::text
