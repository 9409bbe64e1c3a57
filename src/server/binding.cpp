#include "server/binding.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>

#include "server/probe.h"

namespace hearth::server {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

Result<tcp::endpoint> resolve(const std::string& host, int port) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return tcp::endpoint(address, std::uint16_t(port));
  asio::io_context io;
  const auto found = tcp::resolver(io).resolve(host, std::to_string(port), error);
  if (error || found.empty()) {
    return fail(ErrorCode::io, fmt::format("{}: no such host ({})", host, error.message()), "host");
  }
  return found.begin()->endpoint();
}

Error bind_error(const tcp::endpoint& endpoint, const error_code& error) {
  const int port = endpoint.port();
  const auto address = endpoint.address().to_string();
  if (error != asio::error::address_in_use) {
    return {ErrorCode::io, fmt::format("{} port {}: {}", address, port, error.message()), "port"};
  }
  auto target = endpoint;
  if (target.address().is_unspecified()) {
    target.address(target.address().is_v6() ? asio::ip::address(asio::ip::address_v6::loopback())
                                            : asio::ip::address_v4::loopback());
  }
  const auto model = model_served_at(target);
  if (!model) {
    return {ErrorCode::io,
            fmt::format("port {} is taken by another program; choose another with --port", port),
            "port"};
  }
  const std::string serving = model->empty() ? "a model that is loading" : *model;
  return {ErrorCode::io,
          fmt::format("a server is already running on port {}, serving {}: use it, stop it, or "
                      "choose another port with --port",
                      port, serving),
          "port"};
}

}  // namespace

Result<void> bind_unix(UnixAcceptor& acceptor, const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  error_code error;
  try {
    acceptor.open();
    acceptor.bind(path.string(), error);
    std::filesystem::permissions(path, std::filesystem::perms(0600), ignored);
  } catch (const std::exception&) {  // the path is too long
    error = asio::error::name_too_long;
  }
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  return fail(ErrorCode::io, fmt::format("{}: {}", path.string(), error.message()), "unix");
}

Result<void> bind_tcp(tcp::acceptor& acceptor, const std::string& host, int port) {
  if (port < 0 || port > 65535) {
    return fail(ErrorCode::usage, fmt::format("port is {}, expected 0 to 65535", port), "port");
  }
  const auto endpoint = resolve(host, port);
  if (!endpoint) return fail(endpoint.error());
  error_code error;
  acceptor.open(endpoint->protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return fail(bind_error(*endpoint, error));
  return {};
}

}  // namespace hearth::server
