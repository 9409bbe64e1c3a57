// Asks a port who is there.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string>

namespace hearth::server {

/// The model that a server at `endpoint` names in its GET /v1 ("" when it names none yet); none
/// when nothing there answers that within a second.
std::optional<std::string> model_served_at(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace hearth::server
