#include "cli/table.h"

#include <algorithm>

namespace hearth::cli {

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) continue;  // inside a character
    // Lead bytes E1..ED of Hangul, kana and Han are wide; close enough for names and words.
    width += byte >= 0xe3 && byte <= 0xed ? 2 : byte >= 0xf0 ? 2 : 1;
  }
  return width;
}

std::string layout_table(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - display_width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += right[i] ? gap + row[i] : row[i] + gap;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace hearth::cli
