#include "text/ebnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "text/utf8.h"

namespace hearth::text {
namespace {

using CodePoint = std::uint32_t;

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

/// Code point of a whole character.
CodePoint code_point(std::string_view c) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(c[i]); };
  CodePoint code = c.size() == 1 ? byte(0) : byte(0) & (0x7fu >> c.size());
  for (std::size_t i = 1; i < c.size(); ++i) code = code << 6 | (byte(i) & 0x3fu);
  return code;
}

/// One character as a regular expression, so that nothing in it has a meaning of its own.
std::string escaped(CodePoint c) { return fmt::format("\\u{{{:x}}}", c); }

/// Recursive descent over `name ::= alternatives`. Literals become one terminal a character: the
/// library's lexer takes the longest terminal, which would lose sentences of the grammar.
class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  Result<std::string> run() {
    std::string rules;
    for (skip(); !failed() && at_ < text_.size(); skip()) rules += rule();
    for (const auto& [name, rule] : names_) {
      if (!rule.defined && !error_) {
        error_ = Error{ErrorCode::invalid_schema,
                       fmt::format("line {}: the rule \"{}\" is not defined", rule.line, name)};
      }
    }
    const auto root = names_.find("root");
    if (!failed() && (root == names_.end() || !root->second.defined))
      stop("the grammar has no rule \"root\"");
    if (error_) return fail(*error_);
    return fmt::format("start: r{}\n{}", root->second.index, rules);
  }

 private:
  struct Rule {
    int index;
    int line;
    bool defined = false;
  };

  bool failed() const { return error_.has_value(); }
  int line() const {
    return 1 + int(std::count(text_.begin(), text_.begin() + std::min(at_, text_.size()), '\n'));
  }
  void stop(std::string_view what) {
    if (!error_)
      error_ = Error{ErrorCode::invalid_schema, fmt::format("line {}: {}", line(), what)};
  }
  std::string found() const {
    return at_ < text_.size() ? fmt::format("\"{}\"", text_.substr(at_, 12)) : "the end";
  }
  void expected(std::string_view what) {
    stop(fmt::format("found {}, expected {}", found(), what));
  }

  bool next_is(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    if (!next_is(what)) return false;
    at_ += what.size();
    return true;
  }
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string name() {
    const auto begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  Rule& rule_of(const std::string& name) {
    return names_.try_emplace(name, Rule{int(names_.size()), line()}).first->second;
  }
  /// A name that another rule's definition begins with.
  bool at_definition() {
    const auto begin = at_;
    const bool named = !name().empty();
    skip();
    const bool definition = named && next_is("::=");
    at_ = begin;
    return definition;
  }

  std::string rule() {
    const std::string named = name();
    if (named.empty()) return expected("the name of a rule"), "";
    skip();
    if (!take("::=")) return expected("\"::=\""), "";
    Rule& rule = rule_of(named);
    if (rule.defined) return stop(fmt::format("the rule \"{}\" is defined twice", named)), "";
    rule.defined = true;
    const int index = rule.index;
    return fmt::format("r{}: {}\n", index, alternatives());
  }

  std::string alternatives() {
    if (++depth_ > 200) return stop("the grammar is nested too deeply"), "";
    std::string out = sequence();
    for (skip(); !failed() && take("|"); skip()) out += " | " + sequence();
    --depth_;
    return out;
  }

  std::string sequence() {
    std::string out;
    for (skip(); !failed() && at_ < text_.size(); skip()) {
      if (next_is("|") || next_is(")") || (is_name(text_[at_]) && at_definition())) break;
      const std::string item = atom();
      out += (out.empty() ? "" : " ") + item + quantifier();
    }
    return out.empty() ? "\"\"" : out;
  }

  std::string atom() {
    if (next_is("\"") || next_is("'")) return literal();
    if (next_is("[")) return character_class();
    if (take("(")) {
      if (next_is("=") || next_is("?")) return stop("look-ahead is not supported"), "";
      const std::string inside = alternatives();
      skip();
      if (!take(")")) return expected("\")\""), "";
      return fmt::format("({})", inside);
    }
    if (next_is(".")) return ++at_, "/(?s:.)/";
    const std::string named = name();
    if (named.empty()) return expected("a literal, a class, a group or the name of a rule"), "";
    if (next_is("(")) return stop(fmt::format("\"{}(\" is not supported", named)), "";
    return fmt::format("r{}", rule_of(named).index);
  }

  std::string quantifier() {
    skip_blanks();
    for (const char* sign : {"*", "+", "?"}) {
      if (take(sign)) return sign;
    }
    if (!take("{")) return "";
    const auto end = text_.find('}', at_);
    if (end == text_.npos) return expected("\"}\" after a repetition"), "";
    std::string range;
    for (const char c : text_.substr(at_, end - at_)) {
      if (!std::isspace(static_cast<unsigned char>(c))) range += c;
    }
    const bool sound = !range.empty() && std::isdigit(static_cast<unsigned char>(range[0])) &&
                       range.find_first_not_of("0123456789,") == range.npos &&
                       std::count(range.begin(), range.end(), ',') <= 1;
    if (!sound) return expected("a repetition such as {2}, {2,} or {2,4}"), "";
    at_ = end + 1;
    return fmt::format("{{{}}}", range);
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::string literal() {
    const char quote = text_[at_++];
    std::string out;
    int count = 0;
    while (!failed() && at_ < text_.size() && text_[at_] != quote) {
      if (const auto c = character()) {
        out += fmt::format("{}/{}/", count++ ? " " : "", escaped(*c));
      }
    }
    if (failed()) return "";
    if (at_ >= text_.size()) return stop("a literal is not closed"), "";
    ++at_;
    return count == 0 ? "\"\"" : count == 1 ? out : fmt::format("({})", out);
  }

  std::string character_class() {
    ++at_;
    std::string out = take("^") ? "[^" : "[";
    bool any = false;
    while (!failed() && at_ < text_.size() && !next_is("]")) {
      if (next_is("-") && any && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        out += "-";
      }
      if (next_is("\\") && at_ + 1 < text_.size() &&
          std::string_view("dwsDWS").find(text_[at_ + 1]) != std::string_view::npos) {
        out += text_.substr(at_, 2);
        at_ += 2;
      } else if (const auto c = character()) {
        out += escaped(*c);
      }
      any = true;
    }
    if (failed()) return "";
    if (!take("]")) return stop("a class is not closed"), "";
    if (!any) return stop("a class is empty"), "";
    return fmt::format("/{}]/", out);
  }

  /// One character of a literal or a class, escapes read.
  std::optional<CodePoint> character() {
    const auto [kind, size] = first_character(text_.substr(at_));
    if (kind != FirstCharacter::Kind::whole) return stop("a character is not UTF-8"), std::nullopt;
    const auto c = text_.substr(at_, size);
    at_ += size;
    if (c != "\\") return code_point(c);
    if (at_ >= text_.size()) return stop("an escape is cut off"), std::nullopt;
    const char letter = text_[at_++];
    switch (letter) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'x':
        return hexadecimal(2);
      case 'u':
        return hexadecimal(4);
      case 'U':
        return hexadecimal(8);
      default:
        break;
    }
    if (std::isalnum(static_cast<unsigned char>(letter))) {
      return stop(fmt::format("the escape \"\\{}\" is not known", letter)), std::nullopt;
    }
    --at_;
    const auto [escaped_kind, escaped_size] = first_character(text_.substr(at_));
    if (escaped_kind != FirstCharacter::Kind::whole)
      return stop("a character is not UTF-8"), std::nullopt;
    at_ += escaped_size;
    return code_point(text_.substr(at_ - escaped_size, escaped_size));
  }

  std::optional<CodePoint> hexadecimal(std::size_t digits) {
    CodePoint code = 0;
    const auto* begin = text_.data() + at_;
    const auto* most = text_.data() + std::min(text_.size(), at_ + digits);
    const auto [end, error] = std::from_chars(begin, most, code, 16);
    const bool scalar = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    if (error != std::errc() || end != begin + digits || !scalar) {
      return stop(fmt::format("expected {} hexadecimal digits of a character", digits)),
             std::nullopt;
    }
    at_ += digits;
    return code;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, Rule> names_;
  std::optional<Error> error_;
};

/// Whether a line of Lark defines the rule.
bool defines(std::string_view lark, std::string_view rule) {
  for (std::size_t at = 0; at < lark.size();) {
    auto line = lark.substr(at, lark.find('\n', at) - at);
    at += line.size() + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t?!"), line.size()));
    if (!line.starts_with(rule)) continue;
    line.remove_prefix(rule.size());
    const auto next = line.find_first_not_of(" \t");
    if (next != line.npos && line[next] == ':') return true;
  }
  return false;
}

}  // namespace

Result<std::string> lark_of(std::string_view grammar) {
  if (grammar.find("::=") != grammar.npos) return Translator(grammar).run();
  if (!defines(grammar, "start") && defines(grammar, "root")) {
    return fmt::format("start: root\n{}", grammar);
  }
  return std::string(grammar);
}

}  // namespace hearth::text
