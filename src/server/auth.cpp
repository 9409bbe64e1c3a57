#include "server/auth.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cctype>

#include "base/ascii.h"

namespace hearth::server {
namespace {

/// Same length for every key, so the comparison tells nothing of it.
std::array<unsigned char, SHA256_DIGEST_LENGTH> digest(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> out{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

bool is_own_origin(std::string_view origin, std::string_view host) {
  return !host.empty() &&
         (origin == fmt::format("http://{}", host) || origin == fmt::format("https://{}", host));
}

std::string_view bearer(const HttpRequest& request) {
  const auto value = request.header("authorization");
  constexpr std::string_view scheme = "bearer ";
  if (value.size() < scheme.size() || ascii_lower(value.substr(0, scheme.size())) != scheme)
    return {};
  return value.substr(scheme.size());
}

}  // namespace

bool is_loopback(std::string_view host) {
  const std::string name = ascii_lower(host);
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  boost::system::error_code bad;
  const auto address = boost::asio::ip::make_address(name, bad);
  return !bad && address.is_loopback();
}

std::string_view host_name(std::string_view host_header) {
  if (host_header.starts_with('[')) {
    const auto end = host_header.find(']');
    return end == host_header.npos ? host_header : host_header.substr(1, end - 1);
  }
  return host_header.substr(0, host_header.find(':'));
}

Result<void> check_host(const HttpRequest& request, std::string_view bound_host) {
  const auto host = request.header("host");
  if (host.empty()) {
    if (!request.http11) return {};
    return fail(ErrorCode::invalid_request, "an HTTP/1.1 request needs a Host header", "Host");
  }
  if (std::ranges::count(request.headers, "host", &Headers::value_type::first) > 1) {
    return fail(ErrorCode::invalid_request, "a request has one Host header, not several", "Host");
  }
  if (!is_loopback(bound_host) || is_loopback(host_name(host))) return {};
  return fail(
      ErrorCode::forbidden,
      fmt::format("Host is \"{}\", but this server answers to localhost only; start it with "
                  "--host to open it to other names",
                  host),
      "Host");
}

std::optional<std::string> allowed_origin(const HttpRequest& request,
                                          const std::vector<std::string>& listed) {
  const auto origin = request.header("origin");
  if (origin.empty()) return std::nullopt;
  if (is_own_origin(origin, request.header("host"))) return std::string(origin);
  for (const std::string& one : listed) {
    if (one == "*") return "*";
    if (ascii_lower(one) == ascii_lower(origin)) return std::string(origin);
  }
  return std::nullopt;
}

Headers cors_headers(const HttpRequest& request, const std::vector<std::string>& listed) {
  Headers headers;
  if (!request.header("origin").empty()) headers.emplace_back("Vary", "Origin");
  const auto origin = allowed_origin(request, listed);
  if (!origin) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", *origin);
  if (request.method != "OPTIONS") {
    headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, X-Hearth-Timings");
    return headers;
  }
  headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS");
  if (const auto asked = request.header("access-control-request-headers"); !asked.empty()) {
    headers.emplace_back("Access-Control-Allow-Headers", asked);
  }
  headers.emplace_back("Access-Control-Max-Age", "600");
  return headers;
}

Result<void> check_key(const HttpRequest& request, std::string_view key) {
  if (key.empty()) return {};
  const auto wanted = digest(key);
  for (const auto sent : {bearer(request), request.header("x-api-key")}) {
    if (CRYPTO_memcmp(digest(sent).data(), wanted.data(), wanted.size()) == 0) return {};
  }
  return fail(ErrorCode::unauthorized,
              "this server asks for an API key: send it as `Authorization: Bearer <key>` or "
              "`x-api-key`");
}

}  // namespace hearth::server
