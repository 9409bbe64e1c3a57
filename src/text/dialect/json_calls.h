// Calls written as JSON: {"name": ..., "arguments": {...}} and its relatives.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/dialect/dialect.h"

namespace hearth::text {

/// Text between a call's markers.
struct Body {
  enum class Kind {
    calls,
    open,    // it ends inside a string: what looked like a closing may belong to it
    broken,  // no call, repaired or not
  };
  Kind kind = Kind::broken;
  std::vector<ParsedCall> calls;
};

/// What may be mended: nothing; text that does not end inside a string; any text.
enum class Repair { none, whole, cut };

/// One call, several in a row or a list of them. Strictly first, then repaired: without code fence
/// and prose before it, quotes and commas mended, a name lifted out of the arguments.
Body read_json_calls(std::string_view body, const ToolSet& tools, Repair repair);

/// Text of the arguments object alone. None when it is not one.
std::optional<std::string> read_json_arguments(std::string_view text, Repair repair);

/// Calls between `opening` and `closing`, where a closing inside a string does not count.
Scan scan_json_block(std::string_view text, std::string_view opening, std::string_view closing,
                     const ToolSet& tools, Ending ending);

/// A list or an object right after `opening`; it ends where the JSON does.
Scan scan_json_value(std::string_view text, std::string_view opening, const ToolSet& tools,
                     Ending ending);

/// An arguments object at `at`, which the call ends with.
Scan scan_json_arguments(std::string_view text, std::size_t at, ParsedCall call, Ending ending);

inline Scan broken_scan() { return {.kind = Scan::Kind::broken}; }
/// Nothing more can be told: `more` while text can follow.
inline Scan unsettled_scan(Ending ending) {
  return {.kind = ending == Ending::open ? Scan::Kind::more : Scan::Kind::broken};
}

}  // namespace hearth::text
