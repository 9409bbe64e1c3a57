#include "server/frame_relay.h"

#include <fmt/format.h>

#include "services/chat/openai_common.h"
#include "services/chat/responses.h"

namespace hearth::server {
namespace {

bool is_responses(const services::Protocol& protocol) {
  return &protocol == &services::openai_responses;
}

std::string event(const Json& json) {
  return fmt::format("event: {}\n{}", json["type"].get<std::string>(), services::sse_data(json));
}

}  // namespace

FrameRelay::FrameRelay(const services::Protocol& protocol)
    : protocol_(protocol), end_(protocol.stream_type == "text/event-stream" ? "\n\n" : "\n") {}

std::string FrameRelay::take(std::string_view bytes) {
  held_ += bytes;
  std::size_t whole = 0;
  for (auto at = held_.find(end_); at != held_.npos; at = held_.find(end_, whole)) {
    const auto next = at + end_.size();
    if (is_responses(protocol_)) note(std::string_view(held_).substr(whole, next - whole));
    whole = next;
  }
  std::string out = held_.substr(0, whole);
  held_.erase(0, whole);
  return out;
}

/// Keeps what failure() and finished() tell.
void FrameRelay::note(std::string_view frame) {
  constexpr std::string_view mark = "data: ";
  const auto at = frame.find(mark);
  if (at == frame.npos) return;
  auto data = parse_json(frame.substr(at + mark.size()));
  if (!data || !data->is_object()) return;
  number_ = data->value("sequence_number", number_);
  const std::string type = data->value("type", "");
  if (type == "response.created") begun_ = std::move((*data)["response"]);
  const bool last = type == "response.completed" || type == "response.incomplete";
  if (last) finished_ = std::move((*data)["response"]);
}

std::string FrameRelay::failure(const Error& error) const {
  if (!is_responses(protocol_)) {
    services::Request request;
    request.stream = true;
    return protocol_.encoder(request, {})->error_frame(error);
  }
  const Json told = services::responses_error(error)["error"];
  Json failed = begun_.is_object() ? begun_ : Json::object();
  failed["status"] = "failed";
  failed["error"] = {{"code", "server_error"}, {"message", error.message}};
  return event({{"type", "error"},
                {"sequence_number", number_ + 1},
                {"code", told["code"].is_null() ? Json("server_error") : told["code"]},
                {"message", error.message},
                {"param", told["param"]}}) +
         event({{"type", "response.failed"},
                {"sequence_number", number_ + 2},
                {"response", std::move(failed)}});
}

}  // namespace hearth::server
