// Letters of ASCII, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

/// `text` with A-Z as a-z; other bytes stay.
inline std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return out;
}

}  // namespace hearth
