// A verb: its row in the table, and the command that it makes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/folders.h"
#include "base/result.h"
#include "cli/config_file.h"
#include "cli/option.h"
#include "cli/terminal.h"

namespace hearth::cli {

struct Verb;

/// A flag as it was given.
struct GivenFlag {
  std::string name;  // the long one
  std::string value;
  bool is_switch = false;
};

/// What every verb is handed: nothing below reads the environment by itself.
struct Context {
  const Environment& environment;
  const Folders& folders;
  Terminal& terminal;
  std::span<const Verb> verbs;
  std::vector<std::string>
      words;  // positionals beyond those declared; help and completions take them
  bool quiet = false;
  bool verbose = false;
  ConfigFile config = {};
  std::vector<GivenFlag> given = {};  // of the command line
};

/// Exit codes.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_interrupted = 130;

class Command {
 public:
  virtual ~Command() = default;
  /// Its options and positionals; fields are this command's members.
  virtual void declare(OptionTable& table) = 0;
  /// What no single option can check. Nothing has been loaded or written yet.
  virtual Result<void> check(const Context&) { return {}; }
  /// @return the exit code
  virtual Result<int> run(Context& context) = 0;
};

struct Verb {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view summary;
  std::string_view usage;  // what follows the name: "[query] [prompt]"
  std::string_view notes;  // a paragraph or two for --help and the reference; may be empty
  std::unique_ptr<Command> (*make)();
  bool takes_words = false;  // positionals beyond those declared go to Context::words

  bool is(std::string_view word) const;
};

/// Null when no verb has this name or alias.
const Verb* find_verb(std::span<const Verb> verbs, std::string_view word);

/// 2 for usage errors, 130 for cancelled, else 1.
int exit_code(const Error& error);

/// Options that every verb has.
struct CommonOptions {
  std::string config;
  std::string log_level = "warn";
  std::string log_format = "text";
  bool quiet = false, verbose = false, help = false;
  void declare(OptionTable& table);
};

/// All rows of a verb: its own, then the common ones.
OptionTable option_table(const Verb& verb, Command& command, CommonOptions& common);

}  // namespace hearth::cli
