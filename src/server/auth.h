// Who may ask: Host and Origin rules for a server on the user's own machine, and API keys.
// Plain functions of header values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/message.h"

namespace hearth::server {

/// "localhost", 127.x.x.x, "::1": an address that only this machine reaches.
bool is_loopback(std::string_view host);

/// "name:8080", "[::1]:8080" to the name without its port and brackets.
std::string_view host_name(std::string_view host_header);

/// Stops DNS rebinding: on a loopback bind the Host must be a loopback name.
/// Errors: forbidden; invalid_request when an HTTP/1.1 request has none.
Result<void> check_host(const HttpRequest& request, std::string_view bound_host);

/// The Access-Control-Allow-Origin to answer with: the request's Origin when it is the server's own
/// or listed, "*" when that is listed; none otherwise.
std::optional<std::string> allowed_origin(const HttpRequest& request,
                                          const std::vector<std::string>& listed);

/// CORS headers for a reply to this request; more of them when it is a preflight.
Headers cors_headers(const HttpRequest& request, const std::vector<std::string>& listed);

/// Compares `Authorization: Bearer` or `x-api-key` with the key, in time that does not depend on
/// it. Errors: unauthorized. An empty key lets everybody in.
Result<void> check_key(const HttpRequest& request, std::string_view key);

}  // namespace hearth::server
