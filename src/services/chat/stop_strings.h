// Stop strings, matched on text while it arrives. Text that may turn out to be the beginning of one
// is held back, so no part of a stop string ever leaves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::services {

class StopStrings {
 public:
  /// @param strings  none of them empty
  explicit StopStrings(std::vector<std::string> strings);

  /// Takes more text; gives what can no longer belong to a stop string. The match that ends first
  /// wins, of several the longest: the outcome does not depend on how the text was cut into pushes.
  /// After a match everything is dropped.
  /// @param text  whole UTF-8 characters
  std::string push(std::string_view text);

  /// The end: what was held back, unless a stop string has matched.
  std::string finish();

  /// The stop string that matched.
  const std::optional<std::string>& matched() const { return matched_; }

 private:
  std::size_t held_back() const;

  const std::vector<std::string> strings_;
  std::string held_;  // not yet given out: at most a proper prefix of one of strings_
  std::optional<std::string> matched_;
};

}  // namespace hearth::services
