#include "cli/launch/edit.h"

#include "cli/launch/json_edit.h"
#include "cli/launch/yaml_edit.h"

namespace hearth::cli {
namespace {

using Kind = ClientFile::Kind;

YamlKeys yaml_keys(const ClientFile& file) {
  YamlKeys keys;
  for (const auto& [path, value] : file.settings) {
    keys.emplace_back(path.front(), value.is_string() ? value.get<std::string>() : value.dump());
  }
  return keys;
}

/// Takes out one member, and the objects around it that it leaves empty and that were not there.
void take_out(std::string& text, ClientFile::Path path, std::string_view before) {
  if (const auto old = json_member(before, path)) {
    if (auto back = set_json_text(text, path, *old)) text = std::move(*back);
    return;
  }
  text = remove_json_member(text, path);
  for (path.pop_back(); !path.empty(); path.pop_back()) {
    const auto left = json_member(text, path);
    if (!left || !is_empty_json_object(*left) || json_member(before, path)) return;
    text = remove_json_member(text, path);
  }
}

}  // namespace

Result<std::string> with_settings(const ClientFile& file, const std::optional<std::string>& text) {
  if (file.kind == Kind::whole) return file.text;
  std::string out = text.value_or("");
  if (file.kind == Kind::yaml) return set_yaml_keys(out, yaml_keys(file));
  for (auto setting = file.settings.rbegin(); setting != file.settings.rend(); ++setting) {
    auto next = set_json_member(out, setting->first, setting->second);
    if (!next) return fail(next.error());
    out = std::move(*next);
  }
  return out;
}

std::optional<std::string> without_settings(const ClientFile& file, std::string_view text,
                                            const std::optional<std::string>& before) {
  if (file.kind == Kind::whole) return before;
  std::string out(text);
  if (file.kind == Kind::yaml) {
    out = remove_yaml_block(text);
  } else {
    for (const auto& [path, value] : file.settings) take_out(out, path, before.value_or(""));
  }
  const bool nothing = file.kind == Kind::yaml ? out.find_first_not_of(" \t\r\n") == out.npos
                                               : is_empty_json_object(out);
  if (!before && nothing) return std::nullopt;
  return out;
}

}  // namespace hearth::cli
