#include "base/json.h"

#include <fmt/format.h>

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<nlohmann::ordered_json>;
template class std::vector<nlohmann::ordered_json>;

namespace hearth {
namespace {

/// Greatest nesting of `text`, counted outside strings, before the parser recurses into it.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

}  // namespace

Result<Json> parse_json(std::string_view text, int max_depth) {
  if (const int depth = nesting(text); depth > max_depth) {
    return fail(ErrorCode::invalid_request,
                fmt::format("invalid JSON body: nested {} levels deep, at most {} are accepted",
                            depth, max_depth));
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." without its tag.
    std::string_view what = e.what();
    if (const auto at = what.find("] "); at != what.npos) what.remove_prefix(at + 2);
    return fail(ErrorCode::invalid_request, fmt::format("invalid JSON body: {}", what));
  }
}

}  // namespace hearth
