// A request of any chat protocol, from its body to the last frame.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>

#include "server/connection.h"
#include "server/context.h"
#include "services/chat/protocol.h"

namespace hearth::server {

/// What a route does besides parsing and encoding. `complete` runs on a worker, `finished` on the
/// I/O thread.
struct Extras {
  /// Puts into the body what it only refers to. Errors are the client's answer.
  std::function<Result<Json>(Json body, const Served& served)> complete;
  /// The reply of a body that needs no generation; none for the others.
  std::function<std::optional<Json>(const Json& body, const Served& served)> at_once;
  /// After the last event of an answer that did not fail, before its last frame is sent.
  std::function<void(const Json& body)> finished;
};

asio::awaitable<void> generate_with(Context& context, Connection& connection,
                                    const services::Protocol& protocol, Extras extras);

/// Answers with `work(body, served)`, run on a worker: for routes that ask about a request without
/// running it. Errors go out in the protocol's envelope.
asio::awaitable<void> answer_about(
    Context& context, Connection& connection, const services::Protocol& protocol,
    std::function<Result<Json>(const Json& body, const Served& served)> work);

/// The request's body, parsed on a worker. Errors: invalid_request; overloaded.
asio::awaitable<Result<Json>> read_object(Context& context, Connection& connection);

/// The error in the protocol's envelope.
HttpReply protocol_error(Connection& connection, const services::Protocol& protocol,
                         const Error& error);

/// A body that must be a JSON object.
Result<Json> object_body(const std::string& body);

}  // namespace hearth::server
