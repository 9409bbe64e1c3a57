#include "text/call_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/call_grammar.h"

namespace hearth::text {

std::string list_of(const std::string& item, const Json& schema) {
  const int least = schema.value("minItems", 0);
  const Json most = schema.value("maxItems", Json());
  if (most == 0) return "\"[\" \"]\"";
  const std::string more =
      fmt::format("{{{},{}}}", std::max(least - 1, 0),
                  most.is_number_integer() ? std::to_string(most.get<int>() - 1) : "");
  const auto items = fmt::format("(({}) (\",\" ({})){})", item, item, more);
  return fmt::format("\"[\" {}{} \"]\"", items, least == 0 ? "?" : "");
}

std::string searched(std::string pattern) {
  const bool from_start = pattern.starts_with('^');
  const bool to_end = pattern.ends_with('$') && !pattern.ends_with("\\$");
  if (from_start) pattern.erase(0, 1);
  if (to_end) pattern.pop_back();
  return LarkWriter::regex(
      fmt::format("{}({}){}", from_start ? "" : "(?s:.*)", pattern, to_end ? "" : "(?s:.*)"));
}

}  // namespace hearth::text
