// A worker's stream on its way to the client: whole frames only, so that it can be ended properly
// when the worker is gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "services/chat/protocol.h"

namespace hearth::server {

class FrameRelay {
 public:
  explicit FrameRelay(const services::Protocol& protocol);

  /// @return the frames that are whole now
  std::string take(std::string_view bytes);

  /// The frames that end the stream in the protocol's words.
  std::string failure(const Error& error) const;

  /// The last event's response, on the Responses wire; null until it came.
  const Json& finished() const { return finished_; }

 private:
  void note(std::string_view frame);

  const services::Protocol& protocol_;
  const std::string_view end_;  // of a frame
  std::string held_;            // the beginning of a frame
  Json begun_, finished_;       // of the Responses wire
  std::int64_t number_ = -1;    // of its last event
};

}  // namespace hearth::server
