// Texts looked for in a stream: stop strings and markers. What may turn out to be the beginning of
// one can be told, so that it is held back and no part of it ever leaves.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::services {

class Patterns {
 public:
  struct Match {
    std::size_t begin, end;
    int kind;
    std::string_view text;  // the pattern's
  };

  /// @param text  not empty  @param kind  what a match tells; the caller's own
  void add(std::string_view text, int kind);

  /// The match that ends first; of several that end there the longest, of equals the one added
  /// first. The outcome does not depend on how the text was cut while it arrived.
  std::optional<Match> first(std::string_view text) const;

  /// Bytes at the end of `text` that a pattern may begin with.
  std::size_t held_back(std::string_view text) const;

  /// The longest pattern that `text` starts with.
  std::optional<Match> at_start(std::string_view text) const;
  /// Whether `text` is a proper beginning of a pattern.
  bool may_start(std::string_view text) const;

 private:
  struct Pattern {
    std::string text;
    int kind;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace hearth::services
