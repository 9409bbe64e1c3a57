#include "server/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/log_event.h"
#include "server/auth.h"
#include "server/envelope.h"
#include "server/errors.h"
#include "server/forward.h"
#include "server/handlers.h"
#include "services/chat/openai_common.h"

namespace hearth::server {
namespace {

constexpr std::string_view unmatched = "unmatched";

const std::array all_routes{
    Route{"POST", "/v1/chat/completions", generate, Access::key, &services::openai_chat},
    Route{"POST", "/v1/completions", generate, Access::key, &services::openai_completions},
    Route{"POST", "/v1/messages", generate, Access::key, &services::anthropic_messages},
    Route{"POST", "/v1/messages/count_tokens", count_tokens, Access::key,
          &services::anthropic_messages},
    Route{"POST", "/v1/responses", respond, Access::key, &services::openai_responses},
    Route{"POST", "/v1/responses/input_tokens", count_input_tokens, Access::key,
          &services::openai_responses},
    Route{"GET", "/v1/responses/*", show_response},
    Route{"DELETE", "/v1/responses/*", delete_response},
    Route{"POST", "/api/chat", ollama_answer, Access::key, &services::ollama_chat},
    Route{"POST", "/api/generate", ollama_answer, Access::key, &services::ollama_generate},
    Route{"GET", "/api/version", ollama_version},
    Route{"GET", "/api/tags", ollama_tags},
    Route{"GET", "/api/ps", ollama_ps},
    Route{"POST", "/api/show", ollama_show},
    Route{"POST", "/api/embed", ollama_embed, Access::key, &services::ollama_chat},
    Route{"POST", "/api/embeddings", ollama_embed, Access::key, &services::ollama_chat},
    Route{"GET", "/v1", about},
    Route{"GET", "/v1/models", list_models},
    Route{"GET", "/v1/models/*", show_model},
    Route{"POST", "/v1/embeddings", embeddings, Access::key, &services::openai_chat},
    Route{"POST", "/tokenize", tokenize, Access::key, &services::openai_chat},
    Route{"POST", "/detokenize", detokenize, Access::key, &services::openai_chat},
    Route{"GET", "/health", health, Access::open},
    Route{"GET", "/engine", engine_process},
    Route{"GET", "/stats", stats},
    Route{"GET", "/metrics", metrics},
    Route{"POST", "/admin/cache/flush", flush_cache},
    Route{"POST", "/admin/cache/session/close", close_cache_session},
    Route{"GET", "/openapi.json", openapi, Access::open},
    Route{"GET", "/", page, Access::open},
    Route{"GET", "/app.js", page, Access::open},
    Route{"GET", "/app.css", page, Access::open},
};

/// On a worker's own socket alone.
const Route parents_routes[] = {{"POST", "/admin/drain", drain}, {"POST", "/admin/share", share}};

bool matches(const Route& route, std::string_view path) {
  if (!route.path.ends_with("/*")) return route.path == path;
  const auto prefix = route.path.substr(0, route.path.size() - 1);
  return path.size() > prefix.size() && path.starts_with(prefix);
}

std::vector<const Route*> routes_at(std::string_view path) {
  std::vector<const Route*> found;
  for (const Route& route : all_routes) {
    if (matches(route, path)) found.push_back(&route);
  }
  return found;
}

/// Routes of a path; a path without its /v1 reaches them too.
std::vector<const Route*> find_routes(std::string& path) {
  auto found = routes_at(path);
  if (!found.empty() || path.starts_with("/v1")) return found;
  std::string aliased = fmt::format("/v1{}", path);
  found = routes_at(aliased);
  if (!found.empty()) path = std::move(aliased);
  return found;
}

std::string methods_of(const std::vector<const Route*>& found) {
  std::set<std::string_view> methods{"OPTIONS"};
  for (const Route* route : found) {
    methods.insert(route->method);
    if (route->method == "GET") methods.insert("HEAD");
  }
  return fmt::format("{}", fmt::join(methods, ", "));
}

HttpReply not_found(const HttpRequest& request) {
  auto reply = error_at(
      request.path,
      {ErrorCode::not_found, fmt::format("not found: {} {}", request.method, request.path), ""});
  Json body = Json::parse(reply.body);
  if (!body["error"].is_object()) return reply;
  body["error"]["routes"] = Json::array();
  for (const Route& route : all_routes) {
    body["error"]["routes"].push_back(fmt::format("{} {}", route.method, route.path));
  }
  return json_reply(404, body);
}

HttpReply wrong_method(const HttpRequest& request, const std::vector<const Route*>& found) {
  const std::string allow = methods_of(found);
  auto reply = error_at(
      request.path,
      {ErrorCode::invalid_request,
       fmt::format("{} does not take {}; it takes {}", request.path, request.method, allow), ""});
  reply.status = 405;
  reply.headers.emplace_back("Allow", allow);
  return reply;
}

/// The route to call, or the reply that ends the matter before one is.
struct Choice {
  const Route* route = nullptr;
  HttpReply reply;
};

Choice choose(const Context& context, HttpRequest& request) {
  if (auto host = check_host(request, context.options.host); !host) {
    return {nullptr, error_at(request.path, host.error())};
  }
  const bool of_parent = !context.options.unix_socket.empty();
  for (const Route& route : parents_routes) {
    if (of_parent && request.path == route.path) return {&route, {}};
  }
  const auto found = find_routes(request.path);
  if (found.empty()) return {nullptr, not_found(request)};
  if (request.method == "OPTIONS") {
    return {nullptr, {.status = 204, .headers = {{"Allow", methods_of(found)}}}};
  }
  const std::string_view method =
      request.method == "HEAD" ? "GET" : std::string_view(request.method);
  const auto route = std::ranges::find(found, method, &Route::method);
  if (route == found.end()) return {nullptr, wrong_method(request, found)};
  if ((*route)->access == Access::key) {
    if (auto key = check_key(request, context.options.api_key); !key) {
      return {nullptr, error_at(request.path, key.error())};
    }
  }
  return {*route, {}};
}

/// Secrets stay out: of the head of a request, the line has its method and its path.
Json line_of(const HttpRequest& request, std::string_view route, int status) {
  return {{"method", request.method}, {"path", request.path}, {"route", route}, {"status", status}};
}

}  // namespace

std::string Route::rest(std::string_view full) const {
  return percent_decoded(full.substr(path.size() - 1));
}

std::span<const Route> routes() { return all_routes; }

std::optional<HttpReply> refusal(const Context& context, HttpRequest head) {
  Choice choice = choose(context, head);
  if (choice.route) return std::nullopt;
  for (auto& header : cors_headers(head, context.options.allowed_origins)) {
    choice.reply.headers.push_back(std::move(header));
  }
  return std::move(choice.reply);
}

void note_refused(Context& context, const Connection& connection) {
  ++context.metrics.requests[{std::string(unmatched), connection.status()}];
  log::event("request", line_of(connection.request(), unmatched, connection.status()));
}

asio::awaitable<void> dispatch(Context& context, Connection& connection) {
  const auto start = std::chrono::steady_clock::now();
  Choice choice = choose(context, connection.request());
  Headers& common = connection.common_headers();
  common = cors_headers(connection.request(), context.options.allowed_origins);
  const Headers ids = request_id_headers(connection.request().path);
  const std::string id = ids.front().second;
  std::ranges::copy(ids, std::back_inserter(common));
  if (choice.route && choice.route->protocol && context.isolated()) {
    co_await forward(context, connection, *choice.route);
  } else if (choice.route) {
    co_await choice.route->handle(context, connection, *choice.route);
  } else {
    co_await connection.reply(std::move(choice.reply));
  }
  const int status = connection.replied() ? connection.status() : 499;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::string route(choice.route ? choice.route->path : unmatched);
  ++context.metrics.requests[{route, status}];
  context.metrics.request_seconds.add(took.count());
  Json line = line_of(connection.request(), route, status);
  line["seconds"] = std::round(took.count() * 1e6) / 1e6;
  line["request_id"] = id;
  line.update(connection.log_fields());
  log::event("request", line);
}

}  // namespace hearth::server
