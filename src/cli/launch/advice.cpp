#include "cli/launch/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/nearest.h"

namespace hearth::cli {
namespace {

/// A word that a POSIX shell reads as it is.
std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:=@%+").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string shell_lines(const Client& client, const Target& target) {
  std::string out;
  for (const auto& [name, value] : client.environment(target)) {
    out += fmt::format("export {}={}\n", name, value.empty() ? "" : shell_word(value));
  }
  if (client.program.empty()) return out.append(client.then).append("\n");
  out += client.program;
  if (client.arguments != nullptr) {
    for (const auto& word : client.arguments(target)) out.append(1, ' ').append(shell_word(word));
  }
  return out + "\n";
}

std::vector<std::string> client_names(bool startable) {
  std::vector<std::string> out;
  for (const auto& client : clients()) {
    if (!startable || !client.program.empty()) out.emplace_back(client.name);
  }
  return out;
}

Result<const Client*> client_named(const std::optional<std::string>& name, bool startable) {
  const auto names = client_names(startable);
  const auto list = fmt::format("{}", fmt::join(names, ", "));
  if (!name) return fail(ErrorCode::usage, "which client? One of " + list, "client");
  if (std::ranges::find(names, *name) == names.end()) {
    return fail(
        ErrorCode::usage,
        fmt::format("unknown client {}{}; known are {}", *name, did_you_mean(*name, names), list),
        "client");
  }
  return find_client(*name);
}

}  // namespace hearth::cli
