// SIGINT and SIGTERM of a one-shot verb, as calls on a thread of their own. (The server has its own
// handling: server.h.)
#pragma once

#include <termios.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace hearth::cli {

/// Make it before any other thread starts: those that come later inherit the blocked signals.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();

  /// What the next SIGINT or SIGTERM calls, once; without it, or the second time, the process ends
  /// at once with 128 + the signal, after putting the terminal back as it was.
  void on_signal(std::function<void()> cancel);

  /// From now on a SIGINT that nothing waits for is passed over: in a conversation, Ctrl-C a moment
  /// after the answer's end must not end the program.
  void survive_interrupts() { survives_ = true; }

  /// The last signal that came; 0 when none did.
  int last() const { return last_; }
  /// Forgets the last one: a conversation goes on after its answer was stopped.
  void reset() { last_ = 0; }

 private:
  void watch();
  void leave(int signal);

  std::mutex mutex_;  // guards cancel_
  std::function<void()> cancel_;
  std::atomic<int> last_ = 0;
  std::atomic<bool> closing_ = false, survives_ = false;
  std::optional<termios> terminal_;
  std::thread thread_;
};

}  // namespace hearth::cli
