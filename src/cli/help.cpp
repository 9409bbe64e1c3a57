#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth::cli {
namespace {

std::string spelled(const Option& option) {
  std::string out = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.value.empty()) out += " " + option.value;
  return out;
}

/// What is told of an option beside its meaning: choices, default, variable.
std::string facts(const Option& option) {
  std::vector<std::string> parts;
  if (option.choices.size() > 0 && option.value.find('|') == option.value.npos) {
    parts.push_back(fmt::format("one of {}", fmt::join(option.choices, ", ")));
  }
  if (!option.fallback.empty()) parts.push_back("default: " + option.fallback);
  if (!option.env.empty()) parts.push_back("or " + option.env);
  if (option.repeatable) parts.push_back("repeatable");
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

/// Breaks text at blanks; lines after the first are indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  const std::size_t width = std::max<std::size_t>(columns > indent ? columns - indent : 0, 20);
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const auto blank = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, blank);
    if (used > 0 && used + 1 + word.size() > width) {
      out += '\n';
      out.append(indent, ' ');
      used = 0;
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return out;
}

std::string line(std::string_view left, std::string_view right, std::size_t indent, int columns) {
  std::string out = fmt::format("  {}", left);
  if (out.size() + 2 > indent) {
    out += '\n';
    out.append(indent, ' ');
  } else {
    out.append(indent - out.size(), ' ');
  }
  return out + wrapped(right, indent, static_cast<std::size_t>(columns)) + "\n";
}

std::string usage_line(const Verb& verb) {
  return fmt::format("hearth {}{}{}", verb.name, verb.usage.empty() ? "" : " ", verb.usage);
}

/// A table cell: no bar may end it early.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown(const Verb& verb, const OptionTable& table) {
  std::string out =
      fmt::format("## {}\n\n`{}`\n\n{}.\n", verb.name, usage_line(verb), verb.summary);
  if (!verb.aliases.empty()) {
    out += fmt::format("\nAlso called `{}`.\n", fmt::join(verb.aliases, "`, `"));
  }
  if (!verb.notes.empty()) out += fmt::format("\n{}\n", verb.notes);
  std::string rows;
  for (const Option* option : table.options()) {
    if (option->hidden) continue;
    rows += fmt::format("| `{}` | {}{} |\n", cell(spelled(*option)), cell(option->help),
                        cell(facts(*option)));
  }
  if (!rows.empty()) out += "\n| Flag | Meaning |\n| --- | --- |\n" + rows;
  return out;
}

/// The common options alone: they have one section of their own in the reference.
OptionTable common_table(CommonOptions& common) {
  OptionTable table;
  common.declare(table);
  return table;
}

}  // namespace

std::string overview(std::span<const Verb> verbs) {
  std::string out =
      "hearth: language models on this machine\n\nUsage: hearth [verb] [flags]\n\nVerbs:\n";
  for (const auto& verb : verbs) {
    std::string name(verb.name);
    for (const auto alias : verb.aliases) name += fmt::format(", {}", alias);
    out += line(name, verb.summary, 22, 100);
  }
  return out +
         "\nWithout a verb, hearth serves. `hearth help VERB` shows a verb's flags;\n"
         "`hearth --version` the version.\n";
}

std::string verb_help(const Verb& verb, int columns) {
  const auto command = verb.make();
  CommonOptions common;
  const auto table = option_table(verb, *command, common);
  std::string out = fmt::format("Usage: {}\n\n{}.\n", usage_line(verb), verb.summary);
  if (!verb.aliases.empty()) out += fmt::format("Also: {}\n", fmt::join(verb.aliases, ", "));
  if (!verb.notes.empty()) {
    out += fmt::format("\n{}\n", wrapped(verb.notes, 0, static_cast<std::size_t>(columns)));
  }
  if (!table.positionals().empty()) out += "\nArguments:\n";
  for (const auto& positional : table.positionals()) {
    out += line(positional.name, positional.help, 30, columns);
  }
  for (const auto& section : table.sections()) {
    if (std::ranges::all_of(section.options, &Option::hidden)) continue;
    out += fmt::format("\n{}:\n", section.title);
    for (const auto& option : section.options) {
      if (option.hidden) continue;
      out += line(spelled(option), option.help + facts(option), 30, columns);
    }
  }
  return out;
}

std::string reference(std::span<const Verb> verbs) {
  std::string out;
  for (const auto& verb : verbs) {
    const auto command = verb.make();
    OptionTable table;
    command->declare(table);
    out += markdown(verb, table) + "\n";
  }
  CommonOptions common;
  const auto table = common_table(common);
  out += "## Flags of every verb\n\n| Flag | Meaning |\n| --- | --- |\n";
  for (const Option* option : table.options()) {
    out += fmt::format("| `{}` | {}{} |\n", cell(spelled(*option)), cell(option->help),
                       cell(facts(*option)));
  }
  return out;
}

}  // namespace hearth::cli
