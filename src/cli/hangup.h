// SIGHUP as a call on a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace hearth::cli {

/// Make it before other threads start: they inherit the blocked signal.
class Hangup {
 public:
  explicit Hangup(std::function<void()> on_hangup);
  ~Hangup();

 private:
  std::function<void()> on_hangup_;
  std::atomic<bool> closing_ = false;
  std::thread thread_;
};

}  // namespace hearth::cli
