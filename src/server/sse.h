// Runs an answer to its end: as a stream of frames, or as one body.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string_view>

#include "server/connection.h"
#include "server/context.h"
#include "services/chat/protocol.h"

namespace hearth::server {

struct Running {
  services::Answer& answer;
  services::Encoder& encoder;
  Json (*error)(const Error&);
  std::string_view stream_type = "text/event-stream";
  std::function<void()> completed = {};  // the last event is encoded, none failed, nothing is sent
};

/// Sends frames as events come; a ping while there are none. A client that leaves, or takes nothing
/// for too long, cancels the answer.
asio::awaitable<void> stream_answer(Context& context, Connection& connection, Running running);

/// Waits for the last event and sends the encoder's body.
asio::awaitable<void> send_answer(Context& context, Connection& connection, Running running);

}  // namespace hearth::server
