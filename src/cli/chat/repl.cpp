#include "cli/chat/repl.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <vector>

#include "base/folders.h"
#include "cli/nearest.h"
#include "cli/utf8.h"

namespace hearth::cli {
namespace {

struct CommandHelp {
  std::string_view name, argument, what;
};

constexpr std::array commands{
    CommandHelp{"/help", "", "this list"},
    CommandHelp{"/clear", "", "forget the conversation; the system message stays"},
    CommandHelp{"/system", "[TEXT]", "set the system message and start afresh; alone, show it"},
    CommandHelp{"/save", "[FILE]", "write the conversation to a file"},
    CommandHelp{"/load", "FILE", "go on with a saved conversation"},
    CommandHelp{"/exit", "", "leave; so does Ctrl-D"},
};

std::string help_text() {
  std::string out;
  for (const auto& command : commands) {
    out += fmt::format("  {:<16} {}\n", fmt::format("{} {}", command.name, command.argument),
                       command.what);
  }
  return out +
         "  \"\"\"              begins and ends a message of several lines\n"
         "  //               begins a message that starts with a slash\n"
         "  Ctrl-C           stops the answer, or gives up the line";
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

}  // namespace

Repl::Repl(Terminal& terminal, LineEditor& editor, Answerer answer, ReplOptions options)
    : terminal_(terminal), editor_(editor), answer_(std::move(answer)),
      options_(std::move(options)) {}

int Repl::run() {
  for (;;) {
    Line line = read_message(editor_, ">>> ");
    if (line.kind == Line::Kind::end) return failed_;
    if (line.kind == Line::Kind::interrupted || trimmed(line.text).empty()) continue;
    editor_.remember(line.text);
    if (line.text.starts_with("//")) {
      say(line.text.substr(1));
    } else if (line.text.starts_with('/')) {
      if (command(line.text) == Next::leave) return failed_;
    } else {
      say(std::move(line.text));
    }
  }
}

void Repl::say(std::string message) {
  if (const auto at = invalid_utf8(message)) {
    ++failed_;
    terminal_.note(fmt::format("hearth: the message is not UTF-8 text: byte {}", *at));
    return;
  }
  session_.add_user(std::move(message));
  auto answer = answer_(session_.messages());
  if (answer) {
    session_.add_assistant(std::move(*answer));
    return;
  }
  session_.drop_last();
  if (answer.error().code == ErrorCode::cancelled) return;
  ++failed_;
  const bool too_long = answer.error().code == ErrorCode::context_overflow;
  terminal_.note(fmt::format("hearth: {} {}{}", terminal_.paint_err("error:", Style::red),
                             answer.error().message, too_long ? "; /clear starts afresh" : ""));
}

Repl::Next Repl::command(std::string_view line) {
  const auto blank = std::min(line.find(' '), line.size());
  const std::string name(line.substr(0, blank));
  const std::string argument = trimmed(line.substr(blank));
  if (name == "/exit" || name == "/quit" || name == "/bye") return Next::leave;
  if (name == "/help" || name == "/?") {
    terminal_.note(help_text());
  } else if (name == "/clear") {
    session_.clear();
    terminal_.note("The conversation is forgotten.");
  } else if (name == "/system") {
    set_system(argument);
  } else if (name == "/save") {
    save(argument);
  } else if (name == "/load") {
    load(argument);
  } else {
    std::vector<std::string> names;
    for (const auto& known : commands) names.emplace_back(known.name);
    terminal_.note(
        fmt::format("unknown command {}; /help lists them all{}", name, did_you_mean(name, names)));
  }
  return Next::go_on;
}

void Repl::set_system(const std::string& argument) {
  if (argument.empty()) {
    terminal_.note(session_.system().empty() ? "There is no system message." : session_.system());
    return;
  }
  session_.set_system(argument);
  session_.clear();
  terminal_.note("The system message is set; the conversation starts afresh.");
}

void Repl::save(const std::string& argument) {
  std::filesystem::path file = argument;
  if (argument.empty()) {
    if (auto made = make_private_folder(options_.sessions); !made) {
      terminal_.note("hearth: " + made.error().message);
      return;
    }
    const std::tm now = fmt::localtime(std::time(nullptr));
    file = options_.sessions / fmt::format("chat-{:%Y%m%d-%H%M%S}.json", now);
  }
  const auto saved = session_.save(file, options_.model);
  terminal_.note(saved ? fmt::format("Saved {} messages to {}", session_.turns(), file.string())
                       : "hearth: " + saved.error().message);
}

void Repl::load(const std::string& argument) {
  if (argument.empty()) {
    terminal_.note("/load needs the name of a saved conversation");
    return;
  }
  const auto loaded = session_.load(argument);
  terminal_.note(loaded ? fmt::format("{} messages from {}", session_.turns(), argument)
                        : "hearth: " + loaded.error().message);
}

}  // namespace hearth::cli
