#include "cli/launch/run_client.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

std::atomic<::pid_t> running = 0;

void hand_on(int signal) {
  if (const auto child = running.load(); child > 0) ::kill(child, signal);
}

/// Signals as they are while a client has the terminal; as they were when this object ends.
class Signals {
 public:
  Signals() {
    set(0, SIGINT, SIG_IGN);
    set(1, SIGQUIT, SIG_IGN);
    set(2, SIGTERM, hand_on);
    set(3, SIGHUP, hand_on);
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;

  void restore() const {
    for (const auto& [signal, action] : before_) ::sigaction(signal, &action, nullptr);
  }

 private:
  void set(std::size_t index, int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    before_[index].first = signal;
    ::sigaction(signal, &action, &before_[index].second);
  }
  std::array<std::pair<int, struct sigaction>, 4> before_;
};

}  // namespace

std::optional<fs::path> on_path(std::string_view program, const Environment& environment) {
  const auto path = environment.get_or("PATH", "");
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    const auto file = fs::path(path.substr(at, end - at)) / program;
    std::error_code ignored;
    if (end > at && fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
    at = end + 1;
  }
  return std::nullopt;
}

Result<int> run_client(const fs::path& program, const std::vector<std::string>& arguments,
                       const Variables& variables) {
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const Signals signals;
  const ::pid_t child = ::fork();
  if (child == 0) {
    signals.restore();
    ::signal(SIGPIPE, SIG_DFL);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(words[0], words.data());
    ::_exit(errno == ENOENT ? 127 : 126);
  }
  if (child < 0) return fail(ErrorCode::io, fmt::format("fork: {}", std::strerror(errno)));
  running = child;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace hearth::cli
