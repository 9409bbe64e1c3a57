#include "server/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <utility>

namespace hearth::server {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t most_untaken = 1 << 20;  // then the worker is not read until some is taken
constexpr std::chrono::seconds look_again{1};

auto into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

Exchange::Head head_of(const http::response_parser<http::string_body>& parser) {
  const auto& message = parser.get();
  Exchange::Head head{.status = int(message.result_int()),
                      .content_type = {},
                      .headers = {},
                      .streams = !parser.content_length().has_value()};
  for (const auto& header : message) {
    std::string name(header.name_string());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(tolower(c)); });
    if (name == "content-type") head.content_type = std::string(header.value());
    head.headers.emplace_back(std::move(name), std::string(header.value()));
  }
  return head;
}

}  // namespace

std::string get_request(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
}

std::string post_request(std::string_view path, std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

Exchange::Exchange(asio::io_context& io, std::string request, std::function<void()> notify)
    : socket_(io), request_(std::move(request)), notify_(std::move(notify)),
      room_(std::make_shared<Wakeup>(io)) {}

std::shared_ptr<Exchange> Exchange::start(asio::io_context& io, const std::filesystem::path& socket,
                                          std::string request, std::function<void()> notify) {
  std::shared_ptr<Exchange> exchange(new Exchange(io, std::move(request), std::move(notify)));
  asio::co_spawn(io, exchange->run(socket), asio::detached);
  return exchange;
}

asio::awaitable<void> Exchange::run(std::filesystem::path socket) {
  const auto self = shared_from_this();
  const bool whole = co_await talk(socket);
  complete_ = whole;
  broken_ = !whole;
  error_code ignored;
  socket_.close(ignored);
  tell();
}

/// @return whether the whole answer came
asio::awaitable<bool> Exchange::talk(const std::filesystem::path& socket) {
  error_code error;
  co_await socket_.async_connect(socket.string(), into(error));
  if (error) co_return false;
  co_await asio::async_write(socket_, asio::buffer(request_), into(error));
  if (error && error != asio::error::broken_pipe) co_return false;  // an early answer may be there
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  co_await http::async_read_header(socket_, buffer, parser, into(error));
  if (error) co_return false;
  head_ = head_of(parser);
  tell();
  while (!parser.is_done()) {
    co_await http::async_read_some(socket_, buffer, parser, into(error));
    body_ += std::exchange(parser.get().body(), {});
    if (error) co_return false;
    tell();
    while (body_.size() > most_untaken && !closed_) co_await room_->wait_for(look_again);
  }
  co_return true;
}

std::string Exchange::take() {
  room_->notify();
  return std::exchange(body_, {});
}

void Exchange::close() {
  closed_ = true;
  notify_ = nullptr;
  error_code ignored;
  socket_.close(ignored);
  room_->notify();
}

void Exchange::tell() {
  if (notify_) notify_();
}

}  // namespace hearth::server
