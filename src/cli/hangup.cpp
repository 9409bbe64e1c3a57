#include "cli/hangup.h"

#include <signal.h>

#include <utility>

namespace hearth::cli {

Hangup::Hangup(std::function<void()> on_hangup) : on_hangup_(std::move(on_hangup)) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this, set] {
    int signal = 0;
    while (sigwait(&set, &signal) == 0 && !closing_) on_hangup_();
  });
}

Hangup::~Hangup() {
  closing_ = true;
  pthread_kill(thread_.native_handle(), SIGHUP);
  thread_.join();
}

}  // namespace hearth::cli
