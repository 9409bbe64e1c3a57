// Lines from the user: edited and remembered at a terminal (libedit), plain otherwise.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/terminal.h"

namespace hearth::cli {

struct Line {
  enum class Kind { text, interrupted, end } kind = Kind::text;
  std::string text;
};

class LineEditor {
 public:
  virtual ~LineEditor() = default;
  /// The next line, without its newline. `interrupted` for Ctrl-C, `end` for Ctrl-D or the input's
  /// end.
  virtual Line read(const std::string& prompt) = 0;
  /// Adds an entry to the history.
  virtual void remember(const std::string& entry) = 0;

  /// @param history  file of the history; it is made on the first entry, readable by its owner
  static std::unique_ptr<LineEditor> make(const Terminal& terminal,
                                          const std::filesystem::path& history);
};

/// Reads one message: a line, or everything between two `"""`, which may span lines.
Line read_message(LineEditor& editor, const std::string& prompt);

}  // namespace hearth::cli
