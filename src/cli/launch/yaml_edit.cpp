#include "cli/launch/yaml_edit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace hearth::cli {
namespace {

constexpr std::string_view opening = "# >>> hearth", closing = "# <<< hearth", kept = "#hearth# ";

/// Lines with their line ends.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n") == line.npos; }

/// The key that a line at the left margin begins with.
std::string_view key_of(std::string_view line) {
  const auto colon = line.find(':');
  if (line.empty() || std::string_view(" \t#-\r\n").find(line[0]) != line.npos) return {};
  auto key = line.substr(0, colon == line.npos ? 0 : colon);
  while (!key.empty() && key.back() == ' ') key.remove_suffix(1);
  if (key.size() >= 2 && (key[0] == '"' || key[0] == '\'')) key = key.substr(1, key.size() - 2);
  return key;
}

/// Belongs to the key above it.
bool goes_on(std::string_view line) {
  const bool item = line.starts_with("- ") || line.starts_with("-\n") || line.starts_with("-\r");
  return item || line.starts_with(' ') || line.starts_with('\t');
}

Result<void> check(const std::vector<std::string_view>& lines) {
  for (const auto line : lines) {
    if (is_blank(line) || line.starts_with('#') || goes_on(line)) continue;
    const bool mapping = !key_of(line).empty() && line[0] != '{' && line[0] != '[' &&
                         line[0] != '%' && line[0] != '&' && line[0] != '?';
    if (!mapping) {
      return fail(ErrorCode::unsupported,
                  fmt::format("line `{}` is not `key: value`, and only plain files of such lines "
                              "can be added to",
                              line.substr(0, line.find_first_of("\r\n"))));
    }
  }
  return {};
}

}  // namespace

Result<std::string> set_yaml_keys(std::string_view text, const YamlKeys& keys) {
  auto lines = lines_of(text);
  if (!lines.empty() && lines.front().starts_with("---")) lines.erase(lines.begin());
  if (auto plain = check(lines); !plain) return fail(plain.error());
  std::string out;
  bool ours = false;
  for (const auto line : lines_of(text)) {
    if (!is_blank(line) && !line.starts_with('#') && !goes_on(line)) {
      const auto key = key_of(line);
      ours = std::ranges::any_of(keys, [&](const auto& pair) { return pair.first == key; });
    }
    if (ours && !is_blank(line)) out += kept;
    out += line;
  }
  if (!out.empty() && out.back() != '\n') out += '\n';
  out += fmt::format("{}: `hearth launch aider --remove` takes this out again\n", opening);
  for (const auto& [key, value] : keys) out += fmt::format("{}: {}\n", key, Json(value).dump());
  return out += fmt::format("{}\n", closing);
}

std::string remove_yaml_block(std::string_view text) {
  std::string out;
  bool inside = false;
  for (const auto line : lines_of(text)) {
    if (line.starts_with(opening)) inside = true;
    if (!inside) out += line.starts_with(kept) ? line.substr(kept.size()) : line;
    if (line.starts_with(closing)) inside = false;
  }
  return out;
}

}  // namespace hearth::cli
