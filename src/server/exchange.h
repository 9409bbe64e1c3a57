// One request to a worker, over its Unix socket, and its answer as it comes. Of the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/message.h"
#include "server/wakeup.h"

namespace hearth::server {

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  struct Head {
    int status = 0;
    std::string content_type;
    Headers headers;       // names in lower case
    bool streams = false;  // of unknown length
  };

  /// Connects, sends `request` (a whole HTTP/1.1 message) and reads the answer.
  /// @param notify  runs whenever something below has changed
  static std::shared_ptr<Exchange> start(asio::io_context& io, const std::filesystem::path& socket,
                                         std::string request, std::function<void()> notify);

  /// None until it has come.
  const std::optional<Head>& head() const { return head_; }
  /// What has come of the body since the last call.
  std::string take();
  bool complete() const { return complete_; }
  /// It ended, or never began, before the answer was complete.
  bool broken() const { return broken_; }
  /// Breaks it off: the worker sees its client leave. `notify` runs no more.
  void close();

 private:
  Exchange(asio::io_context& io, std::string request, std::function<void()> notify);
  asio::awaitable<void> run(std::filesystem::path socket);
  asio::awaitable<bool> talk(const std::filesystem::path& socket);
  void tell();

  asio::local::stream_protocol::socket socket_;
  const std::string request_;
  std::function<void()> notify_;
  std::shared_ptr<Wakeup> room_;  // body_ was taken
  std::optional<Head> head_;
  std::string body_;
  bool complete_ = false, broken_ = false, closed_ = false;
};

/// The message for a request without a body.
std::string get_request(std::string_view path);
/// A JSON body after it.
std::string post_request(std::string_view path, std::string_view body);

}  // namespace hearth::server
