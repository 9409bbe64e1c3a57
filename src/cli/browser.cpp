#include "cli/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/log.h"

extern char** environ;

namespace hearth::cli {

std::optional<std::string> browser_command(const Environment& environment, bool at_terminal) {
  if (!at_terminal || environment.get("SSH_CONNECTION")) return std::nullopt;
  if (const auto browser = environment.get("BROWSER")) return *browser;
#ifdef __APPLE__
  return "open";
#else
  if (!environment.get("DISPLAY") && !environment.get("WAYLAND_DISPLAY")) return std::nullopt;
  return "xdg-open";
#endif
}

void open_browser(const std::string& url, const Environment& environment,
                  const Terminal& terminal) {
  const bool at_terminal = terminal.out_is_terminal() && terminal.err_is_terminal();
  const auto command = browser_command(environment, at_terminal);
  if (!command) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string program = *command, argument = url;
  const std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    log::warn("no browser opened: {}: {}", program, std::strerror(failed));
    return;
  }
  std::thread([child] { ::waitpid(child, nullptr, 0); }).detach();
}

}  // namespace hearth::cli
