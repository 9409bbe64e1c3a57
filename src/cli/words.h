// Lists that are given as one word.
#pragma once

#include <string>
#include <vector>

namespace hearth::cli {

/// "a, b" and "c" to a, b, c; empty ones are dropped.
std::vector<std::string> split_commas(const std::vector<std::string>& lists);

}  // namespace hearth::cli
