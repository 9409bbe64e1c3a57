#include "services/chat/mention.h"

#include <algorithm>

namespace hearth::services {
namespace {

constexpr int fence = 3;  // backticks that open a block, which blank lines do not end
constexpr std::string_view marks[] = {"\"", "'", "“", "‘", "«"};

/// Backticks of the code that is open after `run` more in a row. Source: CommonMark, code spans.
int code_after(int code, int run) {
  if (run == 0) return code;
  if (code == 0) return run;
  const bool closes = run == code || (code >= fence && run >= code);
  return closes ? 0 : code;
}

}  // namespace

void Mentions::add(std::string_view text) {
  if (text.empty()) return;
  for (const char c : text) add(c);
  const bool blank = newlines_ == 0 && (text.back() == ' ' || text.back() == '\t');
  set_off_ = blank || std::ranges::any_of(marks, [&](auto mark) { return text.ends_with(mark); });
}

void Mentions::add(char c) {
  if (c == '`') {
    ++run_;
    newlines_ = 0;
    return;
  }
  code_ = code_after(code_, run_);
  run_ = 0;
  if (c == '\n') {
    if (++newlines_ >= 2 && code_ < fence) code_ = 0;
  } else if (c != ' ' && c != '\t' && c != '\r') {
    newlines_ = 0;
  }
}

bool Mentions::next() const { return set_off_ || code_after(code_, run_) > 0; }

}  // namespace hearth::services
