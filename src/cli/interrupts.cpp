#include "cli/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace hearth::cli {
namespace {

// SIGUSR1 wakes the thread to end it.
sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  return set;
}

}  // namespace

Interrupts::Interrupts() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  termios now{};
  if (::tcgetattr(STDIN_FILENO, &now) == 0) terminal_ = now;
  thread_ = std::thread([this] { watch(); });
}

Interrupts::~Interrupts() {
  closing_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void Interrupts::on_signal(std::function<void()> cancel) {
  const std::scoped_lock lock(mutex_);
  cancel_ = std::move(cancel);
}

void Interrupts::watch() {
  const sigset_t set = watched();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (signal == SIGUSR1) {
      if (closing_) return;
      continue;
    }
    const std::scoped_lock lock(mutex_);
    if (!cancel_ && signal == SIGINT && survives_) continue;
    if (!cancel_) leave(signal);
    last_ = signal;
    const auto cancel = std::exchange(cancel_, nullptr);
    cancel();
  }
}

void Interrupts::leave(int signal) {
  if (terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*terminal_);
  if (::isatty(STDERR_FILENO) == 1 && ::write(STDERR_FILENO, "\n", 1) < 0) std::_Exit(1);
  std::_Exit(128 + signal);
}

}  // namespace hearth::cli
