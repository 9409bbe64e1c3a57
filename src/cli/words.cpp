#include "cli/words.h"

#include <algorithm>
#include <string_view>

namespace hearth::cli {

std::vector<std::string> split_commas(const std::vector<std::string>& lists) {
  std::vector<std::string> out;
  for (std::string_view list : lists) {
    while (!list.empty()) {
      const auto comma = std::min(list.find(','), list.size());
      auto word = list.substr(0, comma);
      while (word.starts_with(' ')) word.remove_prefix(1);
      while (word.ends_with(' ')) word.remove_suffix(1);
      if (!word.empty()) out.emplace_back(word);
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  return out;
}

}  // namespace hearth::cli
