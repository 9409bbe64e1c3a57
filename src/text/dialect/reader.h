// A cursor over text that may not have ended yet: tells "not so" from "cannot be told yet".
#pragma once

#include <optional>
#include <string_view>

namespace hearth::text {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// Consumes `literal` if the text goes on with it.
  bool take(std::string_view literal) {
    const auto rest = text_.substr(at_);
    if (rest.starts_with(literal)) {
      at_ += literal.size();
      return true;
    }
    if (rest.size() < literal.size() && literal.starts_with(rest)) short_ = true;
    return false;
  }

  /// The text before the next `literal`; consumes both.
  std::optional<std::string_view> take_until(std::string_view literal) {
    const auto found = text_.find(literal, at_);
    if (found == text_.npos) {
      short_ = true;
      return std::nullopt;
    }
    const auto before = text_.substr(at_, found - at_);
    at_ = found + literal.size();
    return before;
  }

  void skip_space() {
    const auto next = text_.find_first_not_of(" \t\r\n", at_);
    at_ = next == text_.npos ? text_.size() : next;
  }
  void skip(std::size_t n) { at_ += n; }

  std::string_view rest() const { return text_.substr(at_); }
  std::size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }
  /// More text might have made something match.
  bool ran_out() const { return short_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool short_ = false;
};

std::string_view trimmed(std::string_view text);

/// Whether text whose end is not known yet may be a function's name: not lines of prose.
inline bool may_be_name(std::string_view text) {
  constexpr std::size_t longest = 256;
  text = trimmed(text);
  return text.size() <= longest && text.find('\n') == text.npos;
}

}  // namespace hearth::text
