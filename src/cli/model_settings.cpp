#include "cli/model_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cli/parse.h"

namespace hearth::cli {
namespace {

constexpr std::array pool_keys{"pin", "idle-unload", "served-name"};

/// Values for an on_off() row of serve that is a plain switch there.
bool is_switch(std::string_view key) { return key == "l1"; }

void warn_of_unknown(const Context& context, const ModelSection& section,
                     const OptionTable& table) {
  for (const auto& value : section.values) {
    if (table.find("--" + value.key) != nullptr) continue;
    std::vector<std::string> keys;
    for (const Option* option : table.options()) keys.push_back(option->key());
    context.terminal.warn(
        fmt::format("{}, line {}: unknown key {} of a model; it is ignored; known "
                    "are {}",
                    context.config.path.string(), value.line, value.key, fmt::join(keys, ", ")));
  }
}

}  // namespace

void ModelSettings::declare(OptionTable& table) {
  declare_sampling(table, sampling, {});
  table.add(on_off("--thinking", &thinking, "let it think"));
  table.add(on_off("--l1", &l1, "mlx-lm's numbers"));
  table.add(whole("--batch", "N", &batch, 1, 1024, "answers generated together"));
  table.add(whole("--context", "N", &context, 2, 1 << 30, "most tokens of prompt and answer"));
  table.add(text("--chat-template", "FILE", &template_file, "in place of its own"));
  table.add(text("--served-name", "NAME", &served_name, "its id in the API"));
  table.add(on_off("--pin", &pin, "once loaded it stays"));
  table.add(whole("--idle-unload", "SECONDS", &idle_unload, 1, 1 << 30, "unused for so long"));
}

Result<std::map<std::string, ModelSettings>> read_model_settings(const Context& context) {
  std::map<std::string, ModelSettings> out;
  for (const auto& section : context.config.models) {
    ModelSettings& settings = out[section.model];
    OptionTable table;
    settings.declare(table);
    const ConfigFile values{.path = context.config.path, .values = section.values, .models = {}};
    if (auto set = apply(table, {}, {}, values, "serve"); !set) return fail(set.error());
    if (!context.quiet) warn_of_unknown(context, section, table);
  }
  return out;
}

std::vector<std::string> section_flags(const ConfigFile& config, const std::string& model) {
  std::vector<std::string> flags;
  for (const auto& section : config.models) {
    if (section.model != model) continue;
    for (const auto& value : section.values) {
      if (std::ranges::find(pool_keys, value.key) != pool_keys.end()) continue;
      if (is_switch(value.key)) {
        if (parse_on_off(value.values.front()) == true) flags.push_back("--" + value.key);
      } else {
        flags.push_back(fmt::format("--{}={}", value.key, value.values.front()));
      }
    }
  }
  return flags;
}

}  // namespace hearth::cli
