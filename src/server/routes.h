// Every path the server answers, in one table, and the walk from a request to its handler.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "server/connection.h"
#include "server/context.h"
#include "services/chat/protocol.h"

namespace hearth::server {

/// Who may call a route when an API key is set.
enum class Access { open, key };

struct Route {
  std::string_view method;
  std::string_view path;  // one that ends in "/*" takes any rest
  asio::awaitable<void> (*handle)(Context&, Connection&, const Route&);
  Access access = Access::key;
  const services::Protocol* protocol = nullptr;  // of routes that need a model

  /// What stands for the "*" in a path.
  std::string rest(std::string_view path) const;
};

std::span<const Route> routes();

/// What dispatch() would refuse a request with, whatever its body: Host, path, method, key.
std::optional<HttpReply> refusal(const Context& context, HttpRequest head);

/// A line in the log and the metrics for a request that could not be read.
void note_refused(Context& context, const Connection& connection);

/// Host, Origin and key rules, then the route's handler, then a line in the log and the metrics.
asio::awaitable<void> dispatch(Context& context, Connection& connection);

}  // namespace hearth::server
