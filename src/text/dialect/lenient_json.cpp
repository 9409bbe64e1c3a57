#include "text/dialect/lenient_json.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace hearth::text {
namespace {

constexpr std::string_view spaces = " \t\r\n";

constexpr std::array<std::pair<char, char>, 8> escapes{{
    {'n', '\n'},
    {'t', '\t'},
    {'r', '\r'},
    {'b', '\b'},
    {'f', '\f'},
    {'"', '"'},
    {'/', '/'},
    {'\\', '\\'},
}};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += {char(0xc0 | code >> 6), char(0x80 | (code & 0x3f))};
  } else if (code < 0x10000) {
    out += {char(0xe0 | code >> 12), char(0x80 | (code >> 6 & 0x3f)), char(0x80 | (code & 0x3f))};
  } else {
    out += {char(0xf0 | code >> 18), char(0x80 | (code >> 12 & 0x3f)),
            char(0x80 | (code >> 6 & 0x3f)), char(0x80 | (code & 0x3f))};
  }
}

/// End of the value at `at` in sound JSON.
std::size_t value_end(std::string_view text, std::size_t at) {
  if (text[at] == '{' || text[at] == '[') return at + json_end(text.substr(at)).size;
  if (text[at] != '"') return std::min(text.find_first_of(",}] \t\r\n", at), text.size());
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

}  // namespace

JsonEnd json_end(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth <= 0) return {i + 1, false};
  }
  return {std::string_view::npos, in_string};
}

std::string_view member_text(std::string_view object, std::string_view key) {
  std::string_view found;
  std::size_t at = object.find('"');
  while (at < object.size() && object[at] == '"') {
    const auto key_end = value_end(object, at);
    const auto name = object.substr(at + 1, key_end - at - 2);
    at = object.find_first_not_of(spaces, object.find(':', key_end) + 1);
    const auto end = value_end(object, at);
    if (name == key) found = object.substr(at, end - at);
    at = object.find_first_not_of(" \t\r\n,", end);
  }
  return found;
}

void LenientJson::skip_space() {
  at_ = std::min(text_.find_first_not_of(spaces, at_), text_.size());
}

bool LenientJson::done() {
  skip_space();
  return at_ == text_.size();
}

bool LenientJson::take(char c) {
  if (done()) {
    ran_out_ = true;
    return false;
  }
  if (text_[at_] != c) return false;
  ++at_;
  return true;
}

std::string_view LenientJson::word() {
  skip_space();
  const auto start = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (at_ == text_.size()) ran_out_ = true;
  return text_.substr(start, at_ - start);
}

std::optional<Json> LenientJson::value() {
  if (done()) {
    ran_out_ = true;
    return std::nullopt;
  }
  const char c = text_[at_];
  if (c != '{' && c != '[' && c != '(') {
    if (c != '"' && c != '\'') return scalar();
    ++at_;
    auto text = string(c);
    if (!text) return std::nullopt;
    return Json(std::move(*text));
  }
  if (++depth_ > deepest) return std::nullopt;
  ++at_;
  auto read = c == '{' ? object() : list(c == '[' ? ']' : ')');
  --depth_;
  return read;
}

std::optional<Json> LenientJson::object() {
  Json out = Json::object();
  while (!take('}')) {
    if (done()) return out;
    std::optional<std::string> key;
    if (take('"'))
      key = string('"');
    else if (take('\''))
      key = string('\'');
    else
      key = std::string(word());
    if (!key || key->empty() || !take(':')) return std::nullopt;
    auto member = value();
    if (!member) return std::nullopt;
    out[*key] = std::move(*member);
    if (!take(',') && !done() && text_[at_] != '}') return std::nullopt;
  }
  return out;
}

std::optional<Json> LenientJson::list(char close) {
  Json out = Json::array();
  while (!take(close)) {
    if (done()) return out;
    auto item = value();
    if (!item) return std::nullopt;
    out.push_back(std::move(*item));
    if (!take(',') && !done() && text_[at_] != close) return std::nullopt;
  }
  return out;
}

/// A single quote ends a string only where something may follow one: not in 'it's'.
bool LenientJson::closes(char quote) const {
  if (text_[at_] != quote) return false;
  if (quote == '"' || at_ + 1 == text_.size()) return true;
  return std::string_view(",:}]) \t\r\n").find(text_[at_ + 1]) != std::string_view::npos;
}

std::optional<std::string> LenientJson::string(char quote) {
  std::string out;
  for (; at_ < text_.size(); ++at_) {
    if (closes(quote)) {
      ++at_;
      return out;
    }
    if (text_[at_] == '\\' && at_ + 1 < text_.size())
      escape(out);
    else
      out += text_[at_];
  }
  ran_out_ = true;
  return std::nullopt;
}

/// The escape at the cursor, which ends on its last character; one that JSON does not know stays.
void LenientJson::escape(std::string& out) {
  const char c = text_[++at_];
  for (const auto& [name, meaning] : escapes) {
    if (name == c) {
      out += meaning;
      return;
    }
  }
  if (c == 'u' && hex4(at_ + 1)) return unicode(out);
  if (c != '\'') out += '\\';
  out += c;
}

std::optional<unsigned> LenientJson::hex4(std::size_t at) const {
  if (at + 4 > text_.size()) return std::nullopt;
  unsigned code = 0;
  const char* start = text_.data() + at;
  const auto [end, error] = std::from_chars(start, start + 4, code, 16);
  if (error != std::errc() || end != start + 4) return std::nullopt;
  return code;
}

void LenientJson::unicode(std::string& out) {
  unsigned code = *hex4(at_ + 1);
  at_ += 4;
  if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_ + 1).starts_with("\\u")) {
    if (const auto low = hex4(at_ + 3); low && *low >= 0xdc00 && *low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (*low - 0xdc00);
      at_ += 6;
    }
  }
  append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

std::optional<Json> LenientJson::scalar() {
  const auto start = at_;
  while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '+')) ++at_;
  if (at_ == text_.size()) ran_out_ = true;
  const auto word = text_.substr(start, at_ - start);
  if (word == "True") return true;
  if (word == "False") return false;
  if (word == "None") return nullptr;
  auto parsed = parse_json(word);
  if (word.empty() || !parsed) return std::nullopt;
  return std::move(*parsed);
}

}  // namespace hearth::text
