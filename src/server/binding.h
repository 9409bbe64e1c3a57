// Where a server listens: an address and a port, or a Unix socket.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace hearth::server {

namespace asio = boost::asio;

using UnixAcceptor = asio::local::stream_protocol::acceptor;

/// @param port  0: any free one
/// Errors: usage; io (host unknown; port in use, naming the model of the server that holds it).
Result<void> bind_tcp(asio::ip::tcp::acceptor& acceptor, const std::string& host, int port);

/// Only this user may connect. What a worker that was killed left there goes. Errors: io.
Result<void> bind_unix(UnixAcceptor& acceptor, const std::filesystem::path& path);

}  // namespace hearth::server
