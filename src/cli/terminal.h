// Standard output and error: what kind they are, colours, and writes that notice a closed pipe.
// stdout carries the result alone; everything else goes to stderr.
#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/result.h"

namespace hearth::cli {

enum class Style { plain, bold, dim, red, green, yellow, cyan };

class Terminal {
 public:
  explicit Terminal(const Environment& environment);

  bool in_is_terminal() const { return in_; }
  bool out_is_terminal() const { return out_; }
  bool err_is_terminal() const { return err_; }
  /// Escape codes may be written to stderr, to stdout: it is a terminal that is not dumb, NO_COLOR
  /// is unset; or CLICOLOR_FORCE or FORCE_COLOR is set.
  bool colour_err() const { return colour_err_; }
  bool colour_out() const { return colour_out_; }
  /// Columns of the terminal; COLUMNS, else 80, where there is none.
  int columns() const { return columns_; }

  /// Writes to stdout and flushes. False once the reader has gone away (a closed pipe): there is
  /// no more to do, and that is no error. Throws std::system_error for any other failure.
  bool out(std::string_view text);

  /// Writes to stderr as it is.
  void err(std::string_view text);
  /// A line on stderr.
  void note(std::string_view line);
  /// "hearth: warning: ..." on stderr.
  void warn(std::string_view message);

  std::string paint_err(std::string_view text, Style style) const;
  std::string paint_out(std::string_view text, Style style) const;

 private:
  bool in_, out_, err_, colour_err_, colour_out_;
  int columns_;
};

/// Text that cannot move the cursor or change colours: control characters but newline and tab are
/// left out. For model output at a terminal.
std::string printable(std::string_view text);

}  // namespace hearth::cli
