#include "cli/worker_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "cli/model_settings.h"

namespace hearth::cli {
namespace {

/// Of the parent alone, or said anew for each model.
constexpr std::array parents_own{"--isolate",
                                 "--port",
                                 "--host",
                                 "--model-pool",
                                 "--pin",
                                 "--no-open",
                                 "--api-key",
                                 "--allowed-origins",
                                 "--served-name",
                                 "--any-model",
                                 "--model",
                                 "--query",
                                 "--model-idle-unload"};

bool is_parents_own(std::string_view name) {
  return std::ranges::find(parents_own, name) != parents_own.end();
}

/// "--name=value", or the name alone for a switch that is on; empty for one that is off.
std::string as_word(const std::string& name, const std::string& value, bool is_switch) {
  if (is_switch) return value == "true" ? name : std::string();
  return fmt::format("{}={}", name, value);
}

}  // namespace

std::vector<std::string> worker_arguments(const Context& context, const std::string& section,
                                          const services::CatalogModel& entry) {
  std::vector<std::string> own = section_flags(context.config, section);
  const auto is_said = [&](const std::string& name) {
    return std::ranges::any_of(
        own, [&](const std::string& word) { return word == name || word.starts_with(name + "="); });
  };
  std::vector<std::string> words{"serve", "--no-open", "--model=" + entry.path.string(),
                                 "--served-name=" + entry.id};
  for (const auto& flag : context.given) {
    if (is_parents_own(flag.name) || is_said(flag.name)) continue;
    if (auto word = as_word(flag.name, flag.value, flag.is_switch); !word.empty()) {
      words.push_back(std::move(word));
    }
  }
  std::ranges::move(own, std::back_inserter(words));
  return words;
}

void end_with_parent() {
  std::thread([] {
    char byte = 0;
    ssize_t got = 1;
    while (got > 0 || (got < 0 && errno == EINTR)) got = ::read(STDIN_FILENO, &byte, 1);
    std::_Exit(exit_failed);
  }).detach();
}

}  // namespace hearth::cli
