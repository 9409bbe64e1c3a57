// The known name closest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hearth::cli {

/// Edits (insert, delete, replace, swap of neighbours) between two words.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate with the fewest edits, or one that `word` begins; none when all are too far off
/// (more than a third of the word's letters, at least two).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean --port?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace hearth::cli
