#include "server/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cstring>
#include <utility>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

extern char** environ;

namespace hearth::server {
namespace {

constexpr std::chrono::milliseconds a_moment{10};

/// This program, though its file was replaced meanwhile where the system allows that.
std::string this_program() {
#ifdef __APPLE__
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  _NSGetExecutablePath(path.data(), &size);
  return path.c_str();
#else
  return "/proc/self/exe";
#endif
}

/// Standard input is `input`, no other descriptor but output and errors is open, no signal is
/// blocked; a process group of its own keeps the terminal's Ctrl-C from it.
class SpawnSettings {
 public:
  explicit SpawnSettings(int input) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK;
#ifdef __APPLE__
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
    posix_spawn_file_actions_addinherit_np(&actions, STDOUT_FILENO);
    posix_spawn_file_actions_addinherit_np(&actions, STDERR_FILENO);
#else
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, flags);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::string words_of(const siginfo_t& info) {
  const bool exited = info.si_code == CLD_EXITED;
  return fmt::format("{} {}", exited ? "exit code" : "signal", info.si_status);
}

}  // namespace

Result<std::shared_ptr<Worker>> Worker::start(boost::asio::io_context& io,
                                              const std::vector<std::string>& arguments,
                                              std::filesystem::path socket, Ended ended) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return fail(ErrorCode::io, fmt::format("pipe for a worker: {}", std::strerror(errno)));
  }
  ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  std::string program = this_program(), name = "hearth";
  std::vector<char*> words{name.data()};
  std::vector<std::string> copies = arguments;
  for (auto& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  const SpawnSettings settings(ends[0]);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes,
                                  words.data(), environ);
  ::close(ends[0]);
  if (error != 0) {
    ::close(ends[1]);
    return fail(ErrorCode::io, fmt::format("starting a worker: {}", std::strerror(error)));
  }
  std::shared_ptr<Worker> worker(new Worker(pid, ends[1], std::move(socket)));
  worker->watch(io, std::make_shared<Ended>(std::move(ended)));
  return worker;
}

Worker::Worker(int pid, int input, std::filesystem::path socket)
    : pid_(pid), input_(input), socket_(std::move(socket)) {}

void Worker::watch(boost::asio::io_context& io, std::shared_ptr<Ended> ended) {
  ended_ = ended;
  watcher_ = std::jthread([this, &io, told = std::weak_ptr(ended)] {
    siginfo_t info{};
    while (::waitid(P_PID, id_t(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    {
      const std::scoped_lock lock(mutex_);
      ::waitpid(pid_, nullptr, 0);
      alive_ = false;
    }
    boost::asio::post(io, [told, how = words_of(info)] {
      if (const auto ended = told.lock()) (*ended)(how);
    });
  });
}

Worker::~Worker() {
  ended_.reset();
  signal(SIGKILL);
  watcher_.join();
  ::close(input_);
  std::error_code ignored;
  std::filesystem::remove(socket_, ignored);
}

void Worker::signal(int number) {
  const std::scoped_lock lock(mutex_);
  if (alive_) ::kill(pid_, number);
}

bool Worker::wait(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      if (!alive_) return true;
    }
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(a_moment);
  }
}

}  // namespace hearth::server
