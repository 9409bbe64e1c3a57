#include "cli/verb.h"

#include <algorithm>

namespace hearth::cli {

bool Verb::is(std::string_view word) const {
  return word == name || std::ranges::find(aliases, word) != aliases.end();
}

const Verb* find_verb(std::span<const Verb> verbs, std::string_view word) {
  const auto found = std::ranges::find_if(verbs, [&](const Verb& verb) { return verb.is(word); });
  return found == verbs.end() ? nullptr : &*found;
}

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::usage:
      return exit_usage;
    case ErrorCode::cancelled:
      return exit_interrupted;
    default:
      return exit_failed;
  }
}

void CommonOptions::declare(OptionTable& table) {
  table.section("Common");
  auto& file = table.add(text("--config", "FILE", &config, "defaults by flag name"));
  file.fallback = "config.toml in the config folder";
  file.env = "HEARTH_CONFIG";
  file.in_config = false;
  auto& level =
      table.add(choice("--log-level", "LEVEL", &log_level,
                       {"error", "warn", "info", "debug", "trace"}, "how much is logged"));
  level.fallback = "warn";
  table.add(choice("--log-format", "FORMAT", &log_format, {"text", "json"}, "form of the log")
                .with_default("text"));
  table.add(flag("--quiet", &quiet, "no steps and no warnings on stderr"));
  table.add(flag("--verbose", &verbose, "more on stderr: timings, and log lines of level info"));
  table.add(flag("-h,--help", &help, "show this help")).in_config = false;
}

OptionTable option_table(const Verb&, Command& command, CommonOptions& common) {
  OptionTable table;
  command.declare(table);
  common.declare(table);
  return table;
}

}  // namespace hearth::cli
