// A worker: this program once more, as the process that holds one model and answers on a Unix
// socket of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace hearth::server {

class Worker {
 public:
  /// How it ended: "signal 9", "exit code 1".
  using Ended = std::function<void(const std::string& how)>;

  /// Starts the program with these arguments. It ends when this process does: it reads its standard
  /// input until that is closed.
  /// @param socket  what it will listen on
  /// @param ended   runs on the I/O thread, once; not after the destructor
  /// Errors: io.
  static Result<std::shared_ptr<Worker>> start(boost::asio::io_context& io,
                                               const std::vector<std::string>& arguments,
                                               std::filesystem::path socket, Ended ended);
  ~Worker();  // kills it if it still runs

  int pid() const { return pid_; }
  const std::filesystem::path& socket() const { return socket_; }
  std::chrono::steady_clock::time_point started() const { return started_; }

  /// Nothing when it has ended.
  void signal(int number);
  /// @return whether it has ended within `limit`
  bool wait(std::chrono::milliseconds limit);

 private:
  Worker(int pid, int input, std::filesystem::path socket);
  void watch(boost::asio::io_context& io, std::shared_ptr<Ended> ended);

  const int pid_;
  const int input_;  // the writing end of its standard input: nothing is ever written
  const std::filesystem::path socket_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  // guards alive_: a signal must not meet another process of that number
  bool alive_ = true;
  std::shared_ptr<Ended> ended_;
  std::jthread watcher_;
};

}  // namespace hearth::server
