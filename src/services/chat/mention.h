// Whether a marker that stands in visible text is only spoken of: "the `<think>` tag".
#pragma once

#include <string_view>

namespace hearth::services {

/// Follows the visible text of an answer.
class Mentions {
 public:
  void add(std::string_view text);

  /// Whether what comes next is within Markdown's code, after a quotation mark, or after a blank in
  /// the middle of a line, where models put no markers of their own.
  bool next() const;

 private:
  void add(char c);

  int run_ = 0;           // backticks at the end
  int code_ = 0;          // backticks that opened the code we are in; 0: in none
  int newlines_ = 0;      // with nothing but blanks between them, at the end
  bool set_off_ = false;  // the last character sets words off
};

}  // namespace hearth::services
