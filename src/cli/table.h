// Columns of text, as wide as they need to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

/// Columns that a terminal gives to UTF-8 text: one a character, two for wide East Asian ones.
std::size_t display_width(std::string_view text);

/// Rows of cells to lines; the first row is the heading. Cells of `right` columns end flush.
std::string layout_table(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<bool>& right);

}  // namespace hearth::cli
