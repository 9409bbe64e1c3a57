// Wakes a coroutine that waits for "something changed" or for time to pass.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

namespace hearth::server {

namespace asio = boost::asio;

/// Owned by a shared_ptr, since a post() may still be under way when its connection has ended.
class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  explicit Wakeup(asio::io_context& io) : io_(io), timer_(io) {}

  /// From any thread. Many calls before the coroutine runs are one.
  void post();

  /// On the I/O thread.
  void notify();

  /// Waits for a notify(), one that came since the last wait included.
  /// @return false when `limit` passed first
  asio::awaitable<bool> wait_for(std::chrono::milliseconds limit);

 private:
  asio::io_context& io_;
  asio::steady_timer timer_;
  std::atomic<bool> posted_ = false;
  bool set_ = false;  // of the I/O thread
};

}  // namespace hearth::server
