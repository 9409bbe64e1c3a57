// Grammars as users write them, to the Lark that the grammar library reads.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::text {

/// EBNF with `::=` (rule `root`) translated; Lark is taken as it is, `root` standing in for a
/// missing `start`.
/// Errors: invalid_schema with line and what was found there.
Result<std::string> lark_of(std::string_view grammar);

}  // namespace hearth::text
