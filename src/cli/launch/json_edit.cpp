#include "cli/launch/json_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hearth::cli {
namespace {

constexpr std::size_t npos = std::string_view::npos;

struct Member {
  std::string key;
  std::size_t begin;                   // of the key's quote
  std::size_t value_begin, value_end;  // value_end: after the value
};

struct Object {
  std::size_t begin, end;  // of the braces; end: at the closing one
  std::vector<Member> members;
  const Member* find(std::string_view key) const {
    const auto found = std::ranges::find(members, key, &Member::key);
    return found == members.end() ? nullptr : &*found;
  }
};

/// Finds its way in JSON text. Every function takes a place and returns the place after what it
/// names; npos when that is not there.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t blank(std::size_t at) const;
  std::size_t string(std::size_t at) const;
  std::size_t value(std::size_t at, int depth = 0) const;
  std::optional<Object> object(std::size_t at, int depth = 0) const;

 private:
  bool is(std::size_t at, char c) const { return at < text_.size() && text_[at] == c; }
  std::size_t list(std::size_t at, int depth) const;
  std::optional<Member> member(std::size_t at, int depth) const;

  static constexpr int deepest = 200;
  std::string_view text_;
};

std::size_t Scanner::blank(std::size_t at) const {
  while (at < text_.size()) {
    if (text_.substr(at, 2) == "//") {
      at = std::min(text_.find('\n', at), text_.size());
    } else if (text_.substr(at, 2) == "/*") {
      const auto end = text_.find("*/", at + 2);
      at = end == npos ? text_.size() : end + 2;
    } else if (std::string_view(" \t\r\n").find(text_[at]) != npos) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

std::size_t Scanner::string(std::size_t at) const {
  if (!is(at, '"')) return npos;
  for (++at; at < text_.size() && text_[at] != '\n'; ++at) {
    if (text_[at] == '"') return at + 1;
    if (text_[at] == '\\') ++at;
  }
  return npos;
}

std::size_t Scanner::list(std::size_t at, int depth) const {
  at = blank(at + 1);
  while (!is(at, ']')) {
    at = value(at, depth + 1);
    if (at == npos) return npos;
    at = blank(at);
    if (is(at, ',')) {
      at = blank(at + 1);
    } else if (!is(at, ']')) {
      return npos;
    }
  }
  return at + 1;
}

std::size_t Scanner::value(std::size_t at, int depth) const {
  if (at >= text_.size() || depth > deepest) return npos;
  if (text_[at] == '"') return string(at);
  if (text_[at] == '[') return list(at, depth);
  if (text_[at] == '{') {
    const auto found = object(at, depth + 1);
    return found ? found->end + 1 : npos;
  }
  auto end = text_.find_first_of(" \t\r\n,]}/", at);
  end = std::min(end, text_.size());
  return Json::accept(text_.substr(at, end - at)) ? end : npos;
}

std::optional<Member> Scanner::member(std::size_t at, int depth) const {
  const auto key_end = string(at);
  if (key_end == npos) return std::nullopt;
  const auto key = Json::parse(text_.substr(at, key_end - at), nullptr, false);
  const auto colon = blank(key_end);
  if (!key.is_string() || !is(colon, ':')) return std::nullopt;
  const auto value_begin = blank(colon + 1);
  const auto value_end = value(value_begin, depth);
  if (value_end == npos) return std::nullopt;
  return Member{key.get<std::string>(), at, value_begin, value_end};
}

std::optional<Object> Scanner::object(std::size_t at, int depth) const {
  if (!is(at, '{') || depth > deepest) return std::nullopt;
  Object out{at, npos, {}};
  at = blank(at + 1);
  while (!is(at, '}')) {
    auto found = member(at, depth);
    if (!found) return std::nullopt;
    at = blank(found->value_end);
    out.members.push_back(std::move(*found));
    if (is(at, ',')) {
      at = blank(at + 1);
    } else if (!is(at, '}')) {
      return std::nullopt;
    }
  }
  out.end = at;
  return out;
}

/// The whole text's object; nothing but blanks may follow it.
std::optional<Object> root(std::string_view text) {
  const Scanner scanner(text);
  auto out = scanner.object(scanner.blank(0));
  if (out && scanner.blank(out->end + 1) != text.size()) return std::nullopt;
  return out;
}

/// The blanks that the line of `at` begins with.
std::string indent_at(std::string_view text, std::size_t at) {
  const auto line = text.rfind('\n', at == 0 ? 0 : at - 1);
  const auto begin = line == npos ? 0 : line + 1;
  const auto end = std::min(text.find_first_not_of(" \t", begin), text.size());
  return std::string(text.substr(begin, std::min(end, at) - begin));
}

std::string indented(const Json& value, const std::string& indent) {
  std::string out;
  for (const char c : value.dump(2)) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

/// `text` with a member put first into `object`.
std::string insert(std::string_view text, const Object& object, const std::string& key,
                   std::string_view value) {
  const bool none = object.members.empty();
  const auto outer = indent_at(text, object.begin);
  const auto inner = none ? outer + "  " : indent_at(text, object.members.front().begin);
  const bool one_line =
      !none &&
      text.substr(object.begin, object.members.front().begin - object.begin).find('\n') == npos;
  std::string out(text.substr(0, object.begin + 1));
  if (!one_line) out += "\n" + inner;
  out += Json(key).dump() + ": ";
  out += value;
  if (!none) out += one_line ? ", " : ",";
  auto rest = text.substr(object.begin + 1);
  if (none && rest.substr(0, object.end - object.begin - 1).find('\n') == npos) {
    out += "\n" + outer;
    rest = text.substr(object.end);
  } else if (one_line) {
    rest = text.substr(object.members.front().begin);
  }
  return out += rest;
}

std::string replace(std::string_view text, std::size_t begin, std::size_t end,
                    std::string_view with) {
  std::string out(text.substr(0, begin));
  return out.append(with).append(text.substr(end));
}

std::size_t line_of(std::string_view text, std::size_t at) {
  return 1 + std::size_t(std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n'));
}

tl::unexpected<Error> no_object(std::string_view text, std::size_t at, std::string_view what) {
  return fail(ErrorCode::corrupt_file,
              fmt::format("line {}: {}, expected an object", line_of(text, at), what));
}

/// The objects along `path` as far as they are there, the outermost first.
Result<std::vector<Object>> walk(std::string_view text, std::span<const std::string> path) {
  auto outermost = root(text);
  if (!outermost) return fail(ErrorCode::corrupt_file, "the file is not a JSON object");
  std::vector<Object> out{std::move(*outermost)};
  const Scanner scanner(text);
  for (const auto& key : path.first(path.size() - 1)) {
    const Member* member = out.back().find(key);
    if (member == nullptr) break;
    auto inner = scanner.object(member->value_begin);
    if (!inner) return no_object(text, member->value_begin, "`" + key + "` is no object");
    out.push_back(std::move(*inner));
  }
  return out;
}

/// Takes a member and its comma out of `text`.
std::string without(std::string_view text, const Object& object, const Member& member) {
  const Scanner scanner(text);
  auto begin = member.begin, end = member.value_end;
  const auto next = scanner.blank(end);
  if (next < text.size() && text[next] == ',') {
    end = scanner.blank(next + 1);
    const bool last = end == object.end;
    if (last) end = next + 1;
  } else if (&member != &object.members.front()) {
    const Member& before = *(&member - 1);
    begin = text.find(',', scanner.blank(before.value_end));
  }
  auto out = replace(text, begin, end, "");
  if (object.members.size() == 1) {  // the braces close up when nothing is left between them
    const auto inside = std::string_view(out).substr(object.begin + 1);
    const auto close = inside.find_first_not_of(" \t\r\n");
    if (close != npos && inside[close] == '}')
      return replace(out, object.begin + 1, object.begin + 1 + close, "");
  }
  return out;
}

}  // namespace

Result<std::string> set_json_text(std::string_view text, std::span<const std::string> path,
                                  std::string_view value) {
  const std::string empty = "{}\n";
  if (text.find_first_not_of(" \t\r\n") == npos) text = empty;
  const auto objects = walk(text, path);
  if (!objects) return fail(objects.error());
  const auto depth = objects->size() - 1;
  const Object& object = objects->back();
  const bool there = depth == path.size() - 1;
  const Member* member = there ? object.find(path.back()) : nullptr;
  if (member != nullptr) return replace(text, member->value_begin, member->value_end, value);
  if (there) return insert(text, object, path.back(), value);
  const auto grown = insert(text, object, path[depth], "{}");
  return set_json_text(grown, path, value);
}

Result<std::string> set_json_member(std::string_view text, std::span<const std::string> path,
                                    const Json& value) {
  std::string indent;
  for (std::size_t i = 0; i < path.size(); ++i) indent += "  ";
  return set_json_text(text, path, indented(value, indent));
}

std::optional<std::string> json_member(std::string_view text, std::span<const std::string> path) {
  const auto objects = walk(text, path);
  if (!objects || objects->size() != path.size()) return std::nullopt;
  const Member* member = objects->back().find(path.back());
  if (member == nullptr) return std::nullopt;
  return std::string(text.substr(member->value_begin, member->value_end - member->value_begin));
}

std::string remove_json_member(std::string_view text, std::span<const std::string> path) {
  const auto objects = walk(text, path);
  if (!objects || objects->size() != path.size()) return std::string(text);
  const Member* member = objects->back().find(path.back());
  return member == nullptr ? std::string(text) : without(text, objects->back(), *member);
}

bool is_empty_json_object(std::string_view text) {
  const auto object = root(text);
  return object && object->members.empty() && text.find('/') == npos;
}

}  // namespace hearth::cli
