#include "cli/launch/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker = "written by hearth";

/// `variable`'s folder, else `folder` below the home folder.
fs::path folder_of(const Environment& environment, std::string_view variable,
                   const fs::path& folder) {
  if (const auto named = environment.get(variable)) return *named;
  return fs::path(environment.get_or("HOME", "")) / folder;
}

// --- Claude Code

Variables claude_environment(const Target& target) {
  return {{"ANTHROPIC_BASE_URL", target.base_url},
          {"ANTHROPIC_AUTH_TOKEN", target.api_key},
          {"ANTHROPIC_API_KEY", ""},
          {"ANTHROPIC_MODEL", target.model},
          {"ANTHROPIC_DEFAULT_OPUS_MODEL", target.model},
          {"ANTHROPIC_DEFAULT_SONNET_MODEL", target.model},
          {"ANTHROPIC_DEFAULT_HAIKU_MODEL", target.model},
          {"CLAUDE_CODE_SUBAGENT_MODEL", target.model},
          {"CLAUDE_CODE_ATTRIBUTION_HEADER", "0"},  // changes the prompt's start in every request
          {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}};
}

ClientFile claude_config(const Target& target, const Environment& environment) {
  ClientFile file{.path = folder_of(environment, "CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
                  .kind = ClientFile::Kind::json,
                  .settings = {},
                  .text = {}};
  for (const auto& [name, value] : claude_environment(target)) {
    file.settings.push_back({{"env", name}, value});
  }
  return file;
}

// --- Codex: a profile of its own, so that the user's config.toml stays as it is

std::string toml(std::string_view text) { return Json(text).dump(); }

Variables codex_environment(const Target& target) { return {{"HEARTH_API_KEY", target.api_key}}; }

std::vector<std::string> codex_arguments(const Target& target) {
  const auto provider =
      fmt::format("{{name={}, base_url={}, wire_api=\"responses\", env_key=\"HEARTH_API_KEY\"}}",
                  toml("hearth"), toml(target.v1()));
  return {"-c", "model_provider=\"hearth\"",
          "-c", "model_providers.hearth=" + provider,
          "-c", "model=" + toml(target.model),
          "-c", fmt::format("model_context_window={}", target.context_length)};
}

ClientFile codex_config(const Target& target, const Environment& environment) {
  auto text = fmt::format(
      "# {}: `hearth launch codex --remove` deletes this file; start with `codex --profile "
      "hearth`\n"
      "model = {}\nmodel_provider = \"hearth\"\nmodel_context_window = {}\n\n"
      "[model_providers.hearth]\nname = \"hearth\"\nbase_url = {}\nwire_api = \"responses\"\n"
      "http_headers = {{ Authorization = {} }}\n",
      marker, toml(target.model), target.context_length, toml(target.v1()),
      toml("Bearer " + target.api_key));
  return {.path = folder_of(environment, "CODEX_HOME", ".codex") / "hearth.config.toml",
          .kind = ClientFile::Kind::whole,
          .settings = {},
          .text = std::move(text)};
}

// --- opencode

Json opencode_provider(const Target& target) {
  return {{"npm", "@ai-sdk/openai-compatible"},
          {"name", "hearth"},
          {"options", {{"baseURL", target.v1()}, {"apiKey", target.api_key}}},
          {"models",
           {{target.model,
             {{"name", target.model},
              {"limit",
               {{"context", target.context_length},
                {"output", std::min(8192, target.context_length / 2)}}}}}}}};
}

Variables opencode_environment(const Target& target) {
  const Json config{{"provider", {{"hearth", opencode_provider(target)}}},
                    {"model", "hearth/" + target.model},
                    {"small_model", "hearth/" + target.model}};
  return {{"OPENCODE_CONFIG_CONTENT", config.dump()}};
}

ClientFile opencode_config(const Target& target, const Environment& environment) {
  const auto folder = folder_of(environment, "XDG_CONFIG_HOME", ".config") / "opencode";
  std::error_code ignored;
  const bool commented = fs::exists(folder / "opencode.jsonc", ignored);
  return {
      .path = folder / (commented ? "opencode.jsonc" : "opencode.json"),
      .kind = ClientFile::Kind::json,
      .settings = {{{"provider", "hearth"}, opencode_provider(target)},
                   {{"model"}, "hearth/" + target.model},
                   {{"small_model"}, "hearth/" + target.model},
                   // opencode puts it in where it is missing: the file would not be ours any more
                   {{"$schema"}, "https://opencode.ai/config.json"}},
      .text = {}};
}

// --- Aider

Variables aider_environment(const Target& target) {
  return {{"OPENAI_API_BASE", target.v1()},
          {"OPENAI_API_KEY", target.api_key},
          {"AIDER_MODEL", "openai/" + target.model},
          {"AIDER_SHOW_MODEL_WARNINGS", "false"}};
}

ClientFile aider_config(const Target& target, const Environment& environment) {
  return {.path = fs::path(environment.get_or("HOME", "")) / ".aider.conf.yml",
          .kind = ClientFile::Kind::yaml,
          .settings = {{{"model"}, "openai/" + target.model},
                       {{"openai-api-base"}, target.v1()},
                       {{"openai-api-key"}, target.api_key},
                       {{"show-model-warnings"}, false}},
          .text = {}};
}

// --- pi, Open WebUI

Variables pi_environment(const Target& target) {
  return {{"HEARTH_URL", target.base_url}, {"HEARTH_API_KEY", target.api_key}};
}

std::vector<std::string> pi_arguments(const Target&) { return {"--model", "hearth/local"}; }

ClientFile pi_config(const Target& target, const Environment& environment) {
  return {.path = pi_extension_path(environment),
          .kind = ClientFile::Kind::whole,
          .settings = {},
          .text = pi_extension(target)};
}

Variables open_webui_environment(const Target& target) {
  return {{"OPENAI_API_BASE_URL", target.v1()},
          {"OPENAI_API_KEY", target.api_key},
          {"ENABLE_OLLAMA_API", "False"}};
}

constexpr std::array table{
    Client{"claude", "Claude Code", "claude", "npm install -g @anthropic-ai/claude-code",
           claude_environment, nullptr, claude_config, ""},
    Client{"codex", "Codex", "codex", "npm install -g @openai/codex", codex_environment,
           codex_arguments, codex_config, "codex --profile hearth"},
    Client{"opencode", "opencode", "opencode", "npm install -g opencode-ai", opencode_environment,
           nullptr, opencode_config, ""},
    Client{"aider", "Aider", "aider", "python3 -m pip install aider-chat", aider_environment,
           nullptr, aider_config, ""},
    Client{"pi", "pi", "pi", "npm install -g @earendil-works/pi-coding-agent", pi_environment,
           pi_arguments, pi_config, "pi --model hearth/local"},
    Client{"open-webui", "Open WebUI", "", "python3 -m pip install open-webui",
           open_webui_environment, nullptr, nullptr, "open-webui serve"},
};

}  // namespace

std::span<const Client> clients() { return table; }

const Client* find_client(std::string_view name) {
  const auto found = std::ranges::find(table, name, &Client::name);
  return found == table.end() ? nullptr : &*found;
}

std::filesystem::path pi_extension_path(const Environment& environment) {
  return folder_of(environment, "PI_CODING_AGENT_DIR", ".pi/agent") / "extensions" /
         "hearth-provider.ts";
}

bool is_ours(std::string_view text) {
  return text.substr(0, text.find('\n')).find(marker) != text.npos;
}

}  // namespace hearth::cli
