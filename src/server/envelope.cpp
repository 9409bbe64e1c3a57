#include "server/envelope.h"

#include <algorithm>

#include "services/chat/anthropic.h"
#include "services/chat/ollama.h"
#include "services/chat/openai_common.h"
#include "services/chat/responses.h"
#include "services/chat/typed_events.h"

namespace hearth::server {
namespace {

struct Wire {
  std::string_view prefix;  // of its paths
  Json (*error)(const Error&);
};

constexpr Wire wires[] = {
    {"/v1/messages", services::anthropic_error},
    {"/v1/responses", services::responses_error},
    {"/api/", services::ollama_error},
    {"", services::openai_error},
};

const Wire& wire_of(std::string_view path) {
  return *std::ranges::find_if(wires, [&](const Wire& w) { return path.starts_with(w.prefix); });
}

}  // namespace

HttpReply error_at(std::string_view path, const Error& error) {
  auto reply = error_reply(error);
  reply.body = services::dump(wire_of(path).error(error));
  return reply;
}

HttpReply in_envelope_of(std::string_view path, HttpReply refusal) {
  const auto& wire = wire_of(path);
  const auto body = parse_json(refusal.body);
  const bool openais = body && body->is_object() && !body->contains("type") &&
                       body->contains("error") && (*body)["error"].is_object();
  if (!openais || wire.error == services::openai_error) return refusal;
  Error error{ErrorCode::invalid_request, (*body)["error"].value("message", ""), ""};
  if (refusal.status == 413) error.code = ErrorCode::too_large;
  if (refusal.status == 429) error.code = ErrorCode::overloaded;
  refusal.body = services::dump(wire.error(error));
  return refusal;
}

Headers request_id_headers(std::string_view path) {
  const std::string id = services::new_id("req_");
  Headers headers{{"X-Request-Id", id}};
  if (wire_of(path).error == services::anthropic_error) headers.emplace_back("Request-Id", id);
  return headers;
}

Json with_request_id(Json error, const Headers& headers) {
  if (error.value("type", "") != "error") return error;
  for (const auto& [name, value] : headers) {
    if (name == "Request-Id") error["request_id"] = value;
  }
  return error;
}

}  // namespace hearth::server
