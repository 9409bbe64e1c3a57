#include "cli/program.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <map>

#include "base/log.h"
#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/parse.h"
#include "cli/verbs.h"

namespace hearth::cli {
namespace {

int report(Terminal& terminal, const Error& error) {
  terminal.note(
      fmt::format("hearth: {} {}", terminal.paint_err("error:", Style::red), error.message));
  return exit_code(error);
}

std::vector<std::string> verb_names(std::span<const Verb> verbs) {
  std::vector<std::string> names;
  for (const auto& verb : verbs) {
    names.emplace_back(verb.name);
    names.insert(names.end(), verb.aliases.begin(), verb.aliases.end());
  }
  return names;
}

/// Takes the verb off the arguments; `serve` where they begin with a flag, or there are none.
Result<const Verb*> take_verb(std::span<const Verb> verbs, std::vector<std::string>& arguments) {
  if (arguments.empty()) return find_verb(verbs, "serve");
  const std::string first = arguments.front();
  if (first.starts_with('-') && first != "-v" && first != "--version" && first != "-h" &&
      first != "--help") {
    return find_verb(verbs, "serve");
  }
  arguments.erase(arguments.begin());
  if (first.starts_with('-')) {
    return find_verb(verbs, first == "-v" || first == "--version" ? "version" : "help");
  }
  if (const Verb* verb = find_verb(verbs, first)) return verb;
  return fail(ErrorCode::usage,
              fmt::format("unknown verb {}{}", first, did_you_mean(first, verb_names(verbs))),
              "verb");
}

/// The value that --config has, before the file that it names is read.
void find_config_file(const OptionTable& table, const Arguments& arguments, const Context& context,
                      CommonOptions& common, bool& named) {
  common.config = (context.folders.config / "config.toml").string();
  const auto given = arguments.given.find(table.find("--config"));
  const auto variable = context.environment.get("HEARTH_CONFIG");
  named = given != arguments.given.end() || variable.has_value();
  if (given != arguments.given.end())
    common.config = given->second.back();
  else if (variable)
    common.config = *variable;
}

/// Every flag of every verb, without its dashes.
std::map<std::string, std::vector<std::string>> known_keys(std::span<const Verb> verbs) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& verb : verbs) {
    const auto command = verb.make();
    CommonOptions common;
    const auto table = option_table(verb, *command, common);
    for (const Option* option : table.options()) {
      if (!option->in_config || option->hidden) continue;
      keys[std::string(verb.name)].push_back(option->key());
      keys[""].push_back(option->key());
    }
  }
  return keys;
}

void warn_of_unknown_keys(const ConfigFile& config, const Context& context) {
  if (config.values.empty()) return;
  const auto keys = known_keys(context.verbs);
  for (const auto& value : config.values) {
    const auto verb = keys.find(value.verb);
    const auto where = fmt::format("{}, line {}", config.path.string(), value.line);
    if (verb == keys.end()) {
      context.terminal.warn(
          fmt::format("{}: there is no verb {}; {} is ignored", where, value.verb, value.key));
    } else if (std::ranges::find(verb->second, value.key) == verb->second.end()) {
      context.terminal.warn(fmt::format("{}: unknown key {}{}; it is ignored", where, value.key,
                                        did_you_mean(value.key, verb->second)));
    }
  }
}

void warn_of_no_effect(const Arguments& arguments, Terminal& terminal) {
  for (const auto& [option, values] : arguments.given) {
    if (option->no_effect) {
      terminal.warn(fmt::format("{} is mlx-lm's and has no effect here", option->name()));
    }
  }
}

/// The flags of the command line, each value with its long name.
std::vector<GivenFlag> given_flags(const OptionTable& table, const Arguments& arguments) {
  std::vector<GivenFlag> out;
  for (const Option* option : table.options()) {
    const auto found = arguments.given.find(option);
    if (found == arguments.given.end()) continue;
    for (const auto& value : found->second)
      out.push_back({option->name(), value, option->value.empty()});
  }
  return out;
}

Result<int> run_verb(const Verb& verb, std::vector<std::string> arguments, Context& context) {
  const auto command = verb.make();
  CommonOptions common;
  const auto table = option_table(verb, *command, common);
  auto split = split_arguments(table, std::move(arguments));
  if (!split) return fail(split.error());
  if (split->given.contains(table.find("--help"))) {
    context.terminal.out(verb_help(verb, std::min(context.terminal.columns(), 100)));
    return exit_ok;
  }
  bool named = false;
  find_config_file(table, *split, context, common, named);
  const auto config = read_config_file(common.config, named);
  if (!config) return fail(config.error());
  if (auto done = apply(table, *split, context.environment, *config, verb.name); !done) {
    return fail(done.error());
  }
  context.quiet = common.quiet;
  context.verbose = common.verbose;
  const bool more = common.verbose && !split->given.contains(table.find("--log-level"));
  log::configure(more ? "info" : common.log_level,
                 common.log_format == "json" ? log::Format::json : log::Format::text);
  if (!common.quiet) {
    warn_of_unknown_keys(*config, context);
    warn_of_no_effect(*split, context.terminal);
  }
  context.config = *config;
  context.given = given_flags(table, *split);
  context.words = take_positionals(table, *split);
  if (!context.words.empty() && !verb.takes_words) {
    return fail(ErrorCode::usage, fmt::format("{} takes no argument '{}'; see `hearth help {}`",
                                              verb.name, context.words.front(), verb.name));
  }
  if (auto sound = command->check(context); !sound) return fail(sound.error());
  return command->run(context);
}

int run_caught(std::vector<std::string> arguments, Context& context) {
  try {
    const auto verb = take_verb(context.verbs, arguments);
    if (!verb) {
      context.terminal.note(overview(context.verbs));
      return report(context.terminal, verb.error());
    }
    const auto code = run_verb(**verb, std::move(arguments), context);
    return code ? *code : report(context.terminal, code.error());
  } catch (const std::exception& e) {
    return report(context.terminal, {ErrorCode::internal, e.what(), ""});
  }
}

}  // namespace

int run_program(std::vector<std::string> arguments, const Environment& environment) {
  ::signal(SIGPIPE, SIG_IGN);  // writes say EPIPE instead; Terminal and the server look at it
  const Folders folders = find_folders(environment);
  Terminal terminal(environment);
  Context context{.environment = environment,
                  .folders = folders,
                  .terminal = terminal,
                  .verbs = all_verbs(),
                  .words = {}};
  return run_caught(std::move(arguments), context);
}

}  // namespace hearth::cli
