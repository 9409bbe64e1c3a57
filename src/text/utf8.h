// Where characters end in a stream of bytes that may be broken or cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::text {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD

/// The first character of `bytes` (not empty).
struct FirstCharacter {
  enum class Kind { whole, cut, broken } kind;
  std::size_t
      size;  // whole: its bytes; cut: all of `bytes`; broken: the bytes that one U+FFFD takes
};
FirstCharacter first_character(std::string_view bytes);

/// Moves what is settled at the front of `held` to `out`: whole characters as they are, broken ones
/// as U+FFFD, as Rust's from_utf8_lossy does. A character that is cut stays in `held`.
void drain_utf8(std::string& held, std::string& out);

}  // namespace hearth::text
