// One client connection: reads requests one after the other, hands each to a handler and writes the
// reply it makes. Bounds sizes and times; notices while it waits that the client has gone.
// Everything here runs on the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "server/message.h"
#include "server/server.h"
#include "server/wakeup.h"

namespace hearth::server {

/// Memory that the bodies of all requests under way may take together.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : free_(bytes) {}
  bool take(std::size_t bytes) {
    if (bytes > free_) return false;
    free_ -= bytes;
    return true;
  }
  void give_back(std::size_t bytes) { free_ += bytes; }

 private:
  std::size_t free_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;
  using Handler = std::function<asio::awaitable<void>(Connection&)>;
  /// What a request is refused with on the strength of its headers; none when it is not.
  using Gate = std::function<std::optional<HttpReply>(HttpRequest)>;
  /// Hears of a request that was refused before a handler could have it.
  using Refused = std::function<void(const Connection&)>;

  /// Of TCP or of a Unix socket.
  using Socket = asio::generic::stream_protocol::socket;

  Connection(asio::io_context& io, Socket socket, const Limits& limits, BodyBudget& bodies);
  ~Connection();

  /// Serves until the client leaves, a limit is passed or close_when_idle().
  /// @param gate     asked before a large body is read
  /// @param handler  answers request(): by reply(), or by open_stream(), write() and end_stream()
  asio::awaitable<void> run(Gate gate, Handler handler, Refused refused);

  // --- for the handler
  const HttpRequest& request() const { return request_; }
  HttpRequest& request() { return request_; }
  /// Headers that every reply to this request carries.
  Headers& common_headers() { return common_headers_; }
  /// What the line of the log about this request says besides how it went; an object.
  Json& log_fields() { return log_fields_; }

  asio::awaitable<void> reply(HttpReply reply);
  /// Begins a reply of unknown length.
  asio::awaitable<void> open_stream(int status, std::string_view content_type, Headers headers);
  asio::awaitable<void> write(std::string_view bytes);
  asio::awaitable<void> end_stream();
  bool replied() const { return status_ != 0; }
  /// Of the reply to the current request; 0 before there is one.
  int status() const { return status_; }

  /// Begins to look out for the client's leaving: gone() turns true and wakeup() is notified.
  void watch();
  /// The client closed, or takes nothing any more.
  bool gone() const { return gone_; }
  Wakeup& wakeup() { return *wakeup_; }

  // --- for the server
  /// Since when it has had no request to read or answer; none while it has one.
  std::optional<Clock::time_point> idle_since() const { return idle_since_; }
  /// No further request; what is being answered goes on.
  void close_when_idle();
  /// Now, whatever is under way.
  void abort();

 private:
  enum class Next { request, end };

  asio::awaitable<Next> read_request(const Gate& gate, const Refused& told_of);
  asio::awaitable<bool> wait_for_bytes();
  template <class Parser>
  asio::awaitable<std::optional<HttpReply>> read_message(Parser& parser, const Gate& gate);
  template <class Parser>
  std::optional<HttpReply> refuse_head(Parser& parser, const Gate& gate);
  template <class Parser>
  asio::awaitable<std::optional<HttpReply>> read_body(Parser& parser);
  std::optional<HttpReply> refuse_read(const boost::system::error_code& error);
  bool reserve_body(std::size_t bytes);
  void release_body();
  asio::awaitable<void> send(std::string_view bytes);
  asio::awaitable<void> look_out();
  asio::awaitable<void> stop_watching();
  asio::awaitable<void> linger();
  void set_deadline(std::chrono::milliseconds limit);
  void clear_deadline();

  Socket socket_;
  const Limits& limits_;
  BodyBudget& bodies_;
  std::size_t body_reserved_ = 0;  // bytes taken from bodies_
  std::shared_ptr<Wakeup> wakeup_;
  asio::steady_timer deadline_;
  std::uint64_t deadline_number_ = 0;  // of the one that counts; older ones are void
  boost::beast::flat_buffer buffer_;   // bytes read and not yet parsed
  HttpRequest request_;
  Headers common_headers_;
  Json log_fields_ = Json::object();
  int status_ = 0;
  bool keep_alive_ = true;
  std::optional<Clock::time_point> idle_since_ = Clock::now();  // none while a request is under way
  bool closing_ = false;
  bool gone_ = false;
  bool refused_ = false;  // more of the request may be coming
  bool timed_out_ = false;
  bool chunked_ = false;
  bool watching_ = false;
};

}  // namespace hearth::server
