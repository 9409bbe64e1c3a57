// What the parent of isolated workers does with a request for a model: it hands it to the model's
// worker and the answer back, with disconnects in both directions.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "base/result.h"
#include "server/context.h"
#include "server/routes.h"

namespace hearth::server {

asio::awaitable<void> forward(Context& context, Connection& connection, const Route& route);

/// The body of a worker's answer to get_request() or post_request(), asked once more if there was
/// none. Errors: engine_lost.
asio::awaitable<Result<std::string>> ask_worker(Context& context, Connection& connection,
                                                const Served& served, std::string request);

/// Headers of a message that concern one connection alone, or that whoever hands it on writes anew;
/// names in lower case.
bool stays_behind(std::string_view header);

}  // namespace hearth::server
