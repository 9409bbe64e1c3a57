// completions: a script that completes verbs and flags, for bash, zsh or fish.
#include <fmt/format.h>

#include "cli/verbs.h"

namespace hearth::cli {
namespace {

// clang-format off
constexpr std::string_view bash_script = R"script(# hearth completion for bash: eval "$(hearth completions bash)"
_hearth() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" verb="${COMP_WORDS[1]}" flags=""
  if [ "$COMP_CWORD" -eq 1 ] && [[ "$cur" != -* ]]; then
    COMPREPLY=($(compgen -W "@1" -- "$cur"))
    return
  fi
  [[ "$verb" == -* ]] && verb=serve
  case "$verb:$prev" in
@2  esac
  case "$verb" in
@3  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _hearth hearth
)script";

constexpr std::string_view zsh_script = R"script(#compdef hearth
# hearth completion for zsh: eval "$(hearth completions zsh)"
_hearth() {
  local -a verbs
  verbs=(
@1  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  if [[ $verb == -* ]]; then
    verb=serve
  else
    shift words
    (( CURRENT-- ))
  fi
  case $verb in
@2  esac
}
compdef _hearth hearth
)script";
// clang-format on

/// A script with @1, @2, ... replaced.
std::string with(std::string_view script, const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < script.size(); ++i) {
    const bool mark =
        script[i] == '@' && i + 1 < script.size() && script[i + 1] >= '1' && script[i + 1] <= '9';
    if (mark) {
      out += parts.at(static_cast<std::size_t>(script[++i] - '1'));
    } else {
      out += script[i];
    }
  }
  return out;
}

struct VerbFlags {
  std::string name;
  std::string summary;
  std::vector<Option> options;
};

std::vector<VerbFlags> all_flags(std::span<const Verb> verbs) {
  std::vector<VerbFlags> out;
  for (const auto& verb : verbs) {
    const auto command = verb.make();
    CommonOptions common;
    const auto table = option_table(verb, *command, common);
    VerbFlags flags{std::string(verb.name), std::string(verb.summary), {}};
    for (const Option* option : table.options()) {
      if (!option->hidden) flags.options.push_back(*option);
    }
    out.push_back(std::move(flags));
  }
  return out;
}

std::string long_names(const VerbFlags& verb) {
  std::vector<std::string> names;
  for (const auto& option : verb.options) {
    for (const auto& name : option.names) {
      if (name.starts_with("--")) names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash(const std::vector<VerbFlags>& verbs) {
  std::string names, cases;
  for (const auto& verb : verbs) {
    names += verb.name + " ";
    cases += fmt::format("    {}) flags=\"{}\" ;;\n", verb.name, long_names(verb));
  }
  std::string values;
  for (const auto& verb : verbs) {
    for (const auto& option : verb.options) {
      if (option.choices.empty()) continue;
      values += fmt::format("    {}:{}) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n",
                            verb.name, option.name(), fmt::join(option.choices, " "));
    }
  }
  return with(bash_script, {names, values, cases});
}

/// Text inside single quotes of a shell, and of zsh's [description].
std::string zsh_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out;
}

std::string zsh(const std::vector<VerbFlags>& verbs) {
  std::string list, cases;
  for (const auto& verb : verbs) {
    list += fmt::format("    '{}:{}'\n", verb.name, zsh_quoted(verb.summary));
    cases += fmt::format("    {}) _arguments", verb.name);
    for (const auto& option : verb.options) {
      for (const auto& name : option.names) {
        if (!name.starts_with("--")) continue;
        const std::string value =
            option.value.empty() ? ""
            : option.choices.empty()
                ? fmt::format(":{}:_files", zsh_quoted(option.value))
                : fmt::format(":{}:({})", zsh_quoted(option.value), fmt::join(option.choices, " "));
        cases += fmt::format(" \\\n      '{}[{}]{}'", name, zsh_quoted(option.help), value);
      }
    }
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return with(zsh_script, {list, cases});
}

std::string fish_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish(const std::vector<VerbFlags>& verbs) {
  std::string out =
      "# hearth completion for fish: hearth completions fish | source\n"
      "complete -c hearth -e\n";
  for (const auto& verb : verbs) {
    out += fmt::format("complete -c hearth -n __fish_use_subcommand -f -a {} -d '{}'\n", verb.name,
                       fish_quoted(verb.summary));
  }
  for (const auto& verb : verbs) {
    for (const auto& option : verb.options) {
      for (const auto& name : option.names) {
        if (!name.starts_with("--")) continue;
        std::string value = option.value.empty() ? "" : " -r";
        if (!option.choices.empty()) {
          value = fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
        }
        out +=
            fmt::format("complete -c hearth -n '__fish_seen_subcommand_from {}' -l {}{} -d '{}'\n",
                        verb.name, name.substr(2), value, fish_quoted(option.help));
      }
    }
  }
  return out;
}

class Completions : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("shell", "bash, zsh or fish", &shell_);
  }

  Result<void> check(const Context&) override {
    if (shell_ == "bash" || shell_ == "zsh" || shell_ == "fish") return {};
    return fail(ErrorCode::usage,
                fmt::format("completions: got '{}', expected one of bash, zsh, fish",
                            shell_.value_or("nothing")));
  }

  Result<int> run(Context& context) override {
    const auto flags = all_flags(context.verbs);
    context.terminal.out(shell_ == "bash"  ? bash(flags)
                         : shell_ == "zsh" ? zsh(flags)
                                           : fish(flags));
    return exit_ok;
  }

 private:
  std::optional<std::string> shell_;
};

}  // namespace

Verb completions_verb() {
  return {
      .name = "completions",
      .aliases = {},
      .summary = "A completion script for bash, zsh or fish",
      .usage = "bash|zsh|fish",
      .notes = "Prints the script: `eval \"$(hearth completions bash)\"` in a shell's start file.",
      .make = []() -> std::unique_ptr<Command> { return std::make_unique<Completions>(); }};
}

}  // namespace hearth::cli
