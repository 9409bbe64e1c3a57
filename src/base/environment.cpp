#include "base/environment.h"

#include <unistd.h>

#include <utility>

extern char** environ;

namespace hearth {

Environment Environment::of(Values values) {
  Environment environment;
  environment.values_ = std::move(values);
  return environment;
}

Environment Environment::of_process() {
  Values values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair = *entry;
    const auto equals = pair.find('=');
    if (equals == pair.npos) continue;
    values.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return of(std::move(values));
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::string Environment::get_or(std::string_view name, std::string_view otherwise) const {
  return get(name).value_or(std::string(otherwise));
}

}  // namespace hearth
