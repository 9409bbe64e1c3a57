#include "server/probe.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>

#include "base/json.h"

namespace hearth::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

asio::awaitable<std::string> get_v1(asio::ip::tcp::endpoint endpoint) {
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(endpoint, asio::use_awaitable);
  http::request<http::empty_body> request{http::verb::get, "/v1", 11};
  request.set(http::field::host, "localhost");
  request.set(http::field::connection, "close");
  co_await http::async_write(socket, request, asio::use_awaitable);
  boost::beast::flat_buffer buffer(64 << 10);
  http::response<http::string_body> response;
  co_await http::async_read(socket, buffer, response, asio::use_awaitable);
  co_return std::move(response.body());
}

}  // namespace

std::optional<std::string> model_served_at(const asio::ip::tcp::endpoint& endpoint) {
  asio::io_context io;
  std::optional<std::string> body;
  asio::co_spawn(io, get_v1(endpoint), [&](std::exception_ptr failed, std::string text) {
    if (!failed) body = std::move(text);
  });
  io.run_for(std::chrono::seconds(1));
  if (!body) return std::nullopt;
  const auto json = parse_json(*body);
  if (!json || !json->is_object() || !json->contains("name")) return std::nullopt;
  const Json model = json->value("model", Json());
  return model.is_string() ? model.get<std::string>() : std::string();
}

}  // namespace hearth::server
