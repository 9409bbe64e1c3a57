// Which wire a path belongs to: the shape of its errors, and the id each request gets.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "server/message.h"

namespace hearth::server {

/// The error with its status, in the envelope of the wire that `path` belongs to.
HttpReply error_at(std::string_view path, const Error& error);

/// A refusal that was made before the path's wire was known, now in that wire's envelope.
HttpReply in_envelope_of(std::string_view path, HttpReply refusal);

/// Headers that tell a request's id, "req_" and 24 hex digits: `x-request-id` and, on Anthropic's
/// wire, `request-id`.
Headers request_id_headers(std::string_view path);

/// An error body of Anthropic's wire with the `request_id` of those headers; others as they are.
Json with_request_id(Json error, const Headers& headers);

}  // namespace hearth::server
