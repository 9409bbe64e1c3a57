#include "server/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "server/envelope.h"

namespace hearth::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

constexpr std::size_t read_ahead = 64 << 10;    // of pipelined requests
constexpr double least_body_rate = 16 << 10;    // bytes a second, after body_time
constexpr std::size_t large_body = 64 << 10;    // worth refusing before it is read
constexpr std::size_t write_piece = 256 << 10;  // each has write_time to get through
constexpr std::chrono::milliseconds linger_time{1000};
constexpr std::size_t linger_bytes = 16 << 20;

auto into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

HttpReply refusal(int status, std::string message) {
  auto reply = error_reply({ErrorCode::invalid_request, std::move(message)});
  reply.status = status;
  return reply;
}

/// What to answer a request that could not be read; none when nobody is there to read it.
std::optional<HttpReply> refusal_of(const error_code& error, const Limits& limits) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return refusal(431, fmt::format("the headers are larger than {} bytes", limits.header_bytes));
  }
  if (error == http::error::body_limit) {
    return error_reply(
        {ErrorCode::too_large, fmt::format("the body is larger than {} bytes", limits.body_bytes)});
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != http::make_error_code(http::error::bad_method).category()) {
    return std::nullopt;
  }
  return refusal(400, fmt::format("not an HTTP request: {}", error.message()));
}

HttpReply no_room() {
  return error_reply({ErrorCode::overloaded, "too many large requests at once; try again", ""});
}

HttpRequest head_of(const http::request<http::string_body>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.path = normal_path(request.target);
  for (const auto& header : message) {
    request.headers.emplace_back(ascii_lower(header.name_string()), std::string(header.value()));
  }
  request.keep_alive = message.keep_alive();
  request.http11 = message.version() >= 11;
  return request;
}

}  // namespace

Connection::Connection(asio::io_context& io, Socket socket, const Limits& limits,
                       BodyBudget& bodies)
    : socket_(std::move(socket)), limits_(limits), bodies_(bodies),
      wakeup_(std::make_shared<Wakeup>(io)), deadline_(io),
      buffer_(limits.header_bytes + read_ahead) {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

Connection::~Connection() { release_body(); }

asio::awaitable<void> Connection::run(Gate gate, Handler handler, Refused refused) {
  const auto self = shared_from_this();
  while (!closing_) {  // not `&& co_await`: g++ 12 awaits it whatever stands before
    const Next next = co_await read_request(gate, refused);
    if (next == Next::end) break;
    co_await handler(*this);
    release_body();
    co_await stop_watching();
    if (gone_ || !keep_alive_) break;
    idle_since_ = Clock::now();
  }
  if (refused_ && !gone_) co_await linger();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
}

// --- reading

asio::awaitable<Connection::Next> Connection::read_request(const Gate& gate,
                                                           const Refused& told_of) {
  const bool there = co_await wait_for_bytes();
  if (!there) co_return Next::end;
  idle_since_.reset();
  status_ = 0;
  timed_out_ = false;
  common_headers_.clear();
  log_fields_ = Json::object();
  request_ = {};

  Parser parser;
  parser.header_limit(std::uint32_t(limits_.header_bytes));
  parser.body_limit(limits_.body_bytes);
  auto refused = co_await read_message(parser, gate);
  if (gone_) co_return Next::end;
  if (refused) {
    keep_alive_ = false;
    refused_ = true;
    const std::string path = normal_path(std::string_view(parser.get().target()));
    HttpReply told = in_envelope_of(path, std::move(*refused));
    co_await reply(std::move(told));
    told_of(*this);
    co_return Next::end;
  }
  request_.body = std::move(parser.get().body());
  keep_alive_ = request_.keep_alive && !closing_;
  co_return Next::request;
}

/// @return false when the client left or idled too long
asio::awaitable<bool> Connection::wait_for_bytes() {
  if (buffer_.size() > 0) co_return true;
  error_code error;
  set_deadline(limits_.idle_time);
  co_await socket_.async_wait(Socket::wait_read, into(error));
  clear_deadline();
  co_return !error && !closing_;
}

/// Reads one message. @return what to refuse it with, if it must be
template <class P>
asio::awaitable<std::optional<HttpReply>> Connection::read_message(P& parser, const Gate& gate) {
  error_code error;
  set_deadline(limits_.header_time);
  co_await http::async_read_header(socket_, buffer_, parser, into(error));
  clear_deadline();
  if (timed_out_) co_return refusal(408, "the headers took too long to arrive");
  if (error) co_return refuse_read(error);
  request_ = head_of(parser.get());
  auto refused = refuse_head(parser, gate);
  if (refused) co_return refused;
  if (request_.http11 && beast::iequals(request_.header("expect"), "100-continue")) {
    co_await send("HTTP/1.1 100 Continue\r\n\r\n");
  }
  refused = co_await read_body(parser);
  co_return refused;
}

/// What the headers alone are refused with.
template <class P>
std::optional<HttpReply> Connection::refuse_head(P& parser, const Gate& gate) {
  const auto length = parser.content_length();
  const bool posts = request_.method == "POST" || request_.method == "PUT";
  if (posts && !length && !parser.chunked()) {
    return refusal(411, "a body needs a Content-Length, or Transfer-Encoding: chunked");
  }
  if (parser.chunked() || (length && *length > large_body)) {
    if (auto refused = gate(request_)) return refused;
  }
  if (length && !reserve_body(*length)) return no_room();
  return std::nullopt;
}

/// Reads the body piece by piece: body_time for the beginning, then a rate that a slow line keeps.
template <class P>
asio::awaitable<std::optional<HttpReply>> Connection::read_body(P& parser) {
  using namespace std::chrono;
  const auto start = steady_clock::now();
  std::size_t bytes = 0;
  while (!parser.is_done()) {
    const auto allowed = limits_.body_time + milliseconds(llround(1000 * bytes / least_body_rate));
    const auto left = duration_cast<milliseconds>(start + allowed - steady_clock::now());
    error_code error;
    set_deadline(std::max(left, milliseconds(0)));
    bytes += co_await http::async_read_some(socket_, buffer_, parser, into(error));
    clear_deadline();
    if (timed_out_) co_return refusal(408, "the body took too long to arrive");
    if (error) co_return refuse_read(error);
    if (!reserve_body(parser.get().body().size())) co_return no_room();
  }
  co_return std::nullopt;
}

/// What a request that could not be read is refused with; none, and gone_, when nobody is there.
std::optional<HttpReply> Connection::refuse_read(const error_code& error) {
  auto refused = refusal_of(error, limits_);
  gone_ = !refused;
  return refused;
}

/// Sees to it that `bytes` are reserved for this request's body.
bool Connection::reserve_body(std::size_t bytes) {
  if (bytes <= body_reserved_) return true;
  if (!bodies_.take(bytes - body_reserved_)) return false;
  body_reserved_ = bytes;
  return true;
}

void Connection::release_body() { bodies_.give_back(std::exchange(body_reserved_, 0)); }

// --- writing

asio::awaitable<void> Connection::send(std::string_view bytes) {
  while (!bytes.empty() && !gone_) {
    const auto piece = bytes.substr(0, write_piece);
    bytes.remove_prefix(piece.size());
    error_code error;
    set_deadline(limits_.write_time);
    co_await asio::async_write(socket_, asio::buffer(piece), into(error));
    clear_deadline();
    if (error || timed_out_) gone_ = true;
  }
}

asio::awaitable<void> Connection::reply(HttpReply reply) {
  status_ = reply.status;
  if (closing_) keep_alive_ = false;
  Headers headers = std::move(reply.headers);
  std::ranges::copy(common_headers_, std::back_inserter(headers));
  std::string bytes = reply_head(reply.status, reply.body.empty() ? "" : reply.content_type,
                                 headers, (long long)(reply.body.size()), keep_alive_);
  if (request_.method != "HEAD") bytes += reply.body;
  co_await send(bytes);
}

asio::awaitable<void> Connection::open_stream(int status, std::string_view content_type,
                                              Headers headers) {
  status_ = status;
  chunked_ = request_.http11;
  if (!chunked_ || closing_) keep_alive_ = false;
  std::ranges::copy(common_headers_, std::back_inserter(headers));
  std::string head = reply_head(status, content_type, headers, -1, keep_alive_);
  if (!chunked_) {  // HTTP/1.0: the end of the connection ends the body
    constexpr std::string_view chunked = "Transfer-Encoding: chunked\r\n";
    head.erase(head.find(chunked), chunked.size());
  }
  co_await send(head);
}

asio::awaitable<void> Connection::write(std::string_view bytes) {
  if (bytes.empty()) co_return;
  if (!chunked_) {
    co_await send(bytes);
  } else {
    const std::string chunk = fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
    co_await send(chunk);
  }
}

asio::awaitable<void> Connection::end_stream() {
  if (chunked_) co_await send("0\r\n\r\n");
}

// --- looking out for the client

void Connection::watch() {
  if (watching_ || gone_) return;
  watching_ = true;
  asio::co_spawn(socket_.get_executor(), look_out(), asio::detached);
}

asio::awaitable<void> Connection::look_out() {
  const auto self = shared_from_this();
  error_code error;
  while (!error && buffer_.size() < read_ahead) {
    const auto space = buffer_.prepare(4096);
    buffer_.commit(co_await socket_.async_read_some(space, into(error)));
  }
  if (error && error != asio::error::operation_aborted) gone_ = true;
  watching_ = false;
  wakeup_->notify();
}

asio::awaitable<void> Connection::stop_watching() {
  while (watching_) {
    error_code ignored;
    socket_.cancel(ignored);
    co_await wakeup_->wait_for(std::chrono::milliseconds(100));
  }
}

// --- the end

void Connection::close_when_idle() {
  closing_ = true;
  error_code ignored;
  if (idle_since_) socket_.cancel(ignored);
}

void Connection::abort() {
  closing_ = true;
  gone_ = true;
  error_code ignored;
  socket_.close(ignored);
  wakeup_->notify();
}

/// Closes our side first and reads what is still coming: a reset would take the reply with it.
asio::awaitable<void> Connection::linger() {
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  set_deadline(linger_time);
  std::string sink(64 << 10, '\0');
  std::size_t bytes = 0;
  while (!error && bytes < linger_bytes) {
    bytes += co_await socket_.async_read_some(asio::buffer(sink), into(error));
  }
  clear_deadline();
}

/// When `limit` passes, whatever waits on the socket ends with an error and timed_out_ is set.
void Connection::set_deadline(std::chrono::milliseconds limit) {
  const auto number = ++deadline_number_;
  deadline_.expires_after(limit);
  deadline_.async_wait([self = weak_from_this(), number](const error_code& error) {
    const auto connection = self.lock();
    if (error || !connection || connection->deadline_number_ != number) return;
    connection->timed_out_ = true;
    error_code ignored;
    connection->socket_.cancel(ignored);
  });
}

void Connection::clear_deadline() {
  ++deadline_number_;
  deadline_.cancel();
}

}  // namespace hearth::server
