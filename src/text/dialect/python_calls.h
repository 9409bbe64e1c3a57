// Calls written as Python: [f(a=1, b="x"), g()].
#pragma once

#include <string_view>

#include "text/dialect/dialect.h"

namespace hearth::text {

/// A list of calls between brackets; it starts at `start`. See Dialect::scan.
Scan scan_python_list(std::string_view text, std::size_t start, const ToolSet& tools,
                      Ending ending);

/// One call: `f(a=1)` or `f.call(a=1)`.
Scan scan_python_call(std::string_view text, std::size_t start, const ToolSet& tools,
                      Ending ending);

}  // namespace hearth::text
