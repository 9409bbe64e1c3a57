// The environment, read once at start into a fixed copy that is passed to whoever needs it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

class Environment {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  Environment() = default;
  static Environment of(Values values);

  /// A copy of this process's variables as they are now.
  static Environment of_process();

  /// The value of `name`; none when it is unset or empty.
  std::optional<std::string> get(std::string_view name) const;

  /// get() or `otherwise`.
  std::string get_or(std::string_view name, std::string_view otherwise) const;

 private:
  Values values_;
};

}  // namespace hearth
