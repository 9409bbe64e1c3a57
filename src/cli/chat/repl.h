// The loop of `hearth chat`: reads messages and commands, writes answers.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/chat/line_editor.h"
#include "cli/chat/session.h"
#include "cli/terminal.h"

namespace hearth::cli {

/// Answers the session's messages: writes the text as it comes and returns it.
/// Error cancelled: the answer was stopped before its first word.
using Answerer = std::function<Result<std::string>(const Json& messages)>;

struct ReplOptions {
  std::string model;               // for saved conversations
  std::filesystem::path sessions;  // where /save without a name writes
};

class Repl {
 public:
  Repl(Terminal& terminal, LineEditor& editor, Answerer answer, ReplOptions options);

  Session& session() { return session_; }

  /// Until Ctrl-D, the input's end or /exit. @return how many messages got an error for an answer
  int run();

 private:
  enum class Next { go_on, leave };
  Next command(std::string_view line);
  void say(std::string message);
  void save(const std::string& argument);
  void load(const std::string& argument);
  void set_system(const std::string& argument);

  Terminal& terminal_;
  LineEditor& editor_;
  Answerer answer_;
  ReplOptions options_;
  Session session_;
  int failed_ = 0;
};

}  // namespace hearth::cli
