#include "cli/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/nearest.h"

namespace hearth::cli {
namespace {

/// `--name=` would make CLI11 take the next argument: an empty value of its own says it is meant.
std::vector<std::string> split_empty_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  bool options = true;
  for (const auto& argument : arguments) {
    if (argument == "--") options = false;
    const bool empty = options && argument.size() > 3 && argument.starts_with("--") &&
                       argument.find('=') == argument.size() - 1;
    if (!empty) {
      out.push_back(argument);
      continue;
    }
    out.push_back(argument.substr(0, argument.size() - 1));
    out.emplace_back();
  }
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

tl::unexpected<Error> unknown(const OptionTable& table, std::string_view argument) {
  const std::string name(argument.substr(0, argument.find('=')));
  auto hint = did_you_mean(name, table.names());
  if (hint.empty() && argument.find(' ') != argument.npos) {
    hint = "; put -- before text that begins with a dash";
  }
  return fail(ErrorCode::usage, fmt::format("unknown flag {}{}", name, hint), name);
}

/// What CLI11 did not take: words, and flags that nobody knows. After `--` all are words.
Result<std::vector<std::string>> words_of(const OptionTable& table,
                                          const std::vector<std::string>& remaining) {
  std::vector<std::string> words;
  bool options = true;
  for (const auto& argument : remaining) {
    if (options && argument == "--") {
      options = false;
    } else if (options && argument.size() > 1 && argument.starts_with('-')) {
      return unknown(table, argument);
    } else {
      words.push_back(argument);
    }
  }
  return words;
}

Result<void> set(const Option& option, const std::string& source, const std::string& value) {
  auto done = option.set(value);
  if (done) return {};
  if (done.error().param == "refused") {
    return fail(ErrorCode::usage, fmt::format("{}: {}", source, done.error().message));
  }
  return fail(ErrorCode::usage,
              fmt::format("{}: got '{}', expected {}", source, value, done.error().message),
              option.name());
}

Result<void> set_all(const Option& option, const std::string& source,
                     const std::vector<std::string>& values) {
  if (values.empty()) return {};
  // Every value is checked, though the last one wins.
  for (const auto& value : values) {
    if (auto done = set(option, source, value); !done) return done;
  }
  return {};
}

}  // namespace

Result<Arguments> split_arguments(const OptionTable& table, std::vector<std::string> arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<const Option*, CLI::Option*>> bound;
  for (const Option* option : table.options()) {
    CLI::Option* row = nullptr;
    if (option->value.empty()) {
      row = app.add_flag(joined(option->names));
    } else {
      row = app.add_option(joined(option->names));
      row->type_size(1)->expected(1);
    }
    row->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    bound.emplace_back(option, row);
  }
  auto split = split_empty_values(arguments);
  const std::string last = split.empty() ? "" : split.back();
  std::reverse(split.begin(), split.end());  // CLI11 takes arguments from the back
  try {
    app.parse(std::move(split));
  } catch (const CLI::ArgumentMismatch&) {
    return fail(ErrorCode::usage, fmt::format("{} needs a value", last), last);
  } catch (const CLI::ParseError& e) {
    return fail(ErrorCode::usage, e.what());
  }
  Arguments out;
  for (const auto& [option, row] : bound) {
    if (row->count() > 0) out.given[option] = row->results();
  }
  auto words = words_of(table, app.remaining());
  if (!words) return fail(words.error());
  out.words = std::move(*words);
  return out;
}

Result<void> apply(const OptionTable& table, const Arguments& arguments,
                   const Environment& environment, const ConfigFile& config,
                   std::string_view verb) {
  for (const Option* option : table.options()) {
    Result<void> done;
    const auto given = arguments.given.find(option);
    const ConfigValue* entry = option->in_config ? config.find(verb, option->key()) : nullptr;
    const auto variable = option->env.empty() ? std::nullopt : environment.get(option->env);
    if (given != arguments.given.end()) {
      done = set_all(*option, option->name(), given->second);
    } else if (variable) {
      done = set(*option, option->env, *variable);
    } else if (entry != nullptr) {
      const auto source =
          fmt::format("{}, line {}: {}", config.path.string(), entry->line, entry->key);
      if (entry->values.size() != 1 && !option->repeatable) {
        return fail(ErrorCode::usage, fmt::format("{}: expected one value, not a list", source));
      }
      done = set_all(*option, source, entry->values);
    }
    if (!done) return done;
  }
  return {};
}

std::vector<std::string> take_positionals(const OptionTable& table, const Arguments& arguments) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.words.size(); ++i) {
    if (i < table.positionals().size()) {
      *table.positionals()[i].field = arguments.words[i];
    } else {
      rest.push_back(arguments.words[i]);
    }
  }
  return rest;
}

}  // namespace hearth::cli
