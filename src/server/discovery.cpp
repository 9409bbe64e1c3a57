#include <fmt/format.h>

#include <chrono>

#include "server/handlers.h"
#include "server/model_name.h"

namespace hearth::server {
namespace {

std::string iso_time(std::int64_t seconds) {
  const std::time_t at = seconds;
  std::tm utc{};
  gmtime_r(&at, &utc);
  char text[32];
  const auto n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, n};
}

Json model_row(const Context& context, std::size_t model) {
  Json row = context.pool.row(model);
  row["created"] = context.started_seconds();
  row["created_at"] = iso_time(context.started_seconds());
  return row;
}

/// 503 while the first model's worker is down for good.
HttpReply health_of_worker(const Context& context) {
  const bool down = context.pool.down(0).has_value();
  const bool there = context.first_model() != nullptr;
  return json_reply(down ? 503 : 200, {{"status", down ? "unavailable" : "ok"},
                                       {"isolated", true},
                                       {"worker", down    ? "down"
                                                  : there ? "ready"
                                                          : "absent"}});
}

}  // namespace

Handled health(Context& context, Connection& connection, const Route&) {
  HttpReply reply{.body = R"({"status": "ok"})"};
  if (context.isolated()) reply = health_of_worker(context);
  co_await connection.reply(std::move(reply));
}

Handled about(Context& context, Connection& connection, const Route&) {
  Json body{{"name", "hearth"}, {"version", HEARTH_VERSION}};
  const bool known = context.pool.is_open() && context.pool.was_resident(0);
  body["model"] = known ? Json(context.pool.models().front().id) : Json();
  body["endpoints"] = Json::array();
  for (const Route& route : routes()) {
    body["endpoints"].push_back(fmt::format("{} {}", route.method, route.path));
  }
  co_await connection.reply(json_reply(200, body));
}

Handled list_models(Context& context, Connection& connection, const Route&) {
  const auto known = co_await context.wait_for_rows(connection);
  if (connection.gone()) co_return;
  if (!known) {
    co_await connection.reply(error_reply(known.error()));
    co_return;
  }
  Json data = Json::array();
  for (const auto i : context.pool.listed()) data.push_back(model_row(context, i));
  const Json body{{"object", "list"},
                  {"data", data},
                  {"has_more", false},
                  {"first_id", data.front()["id"]},
                  {"last_id", data.back()["id"]},
                  {"models", data}};
  co_await connection.reply(json_reply(200, body));
}

Handled show_model(Context& context, Connection& connection, const Route& route) {
  const auto known = co_await context.wait_for_rows(connection);
  if (connection.gone()) co_return;
  Result<std::size_t> model = 0;
  if (known) {
    model = model_named(context, route.rest(connection.request().path));
  } else {
    model = fail(known.error());
  }
  if (!model) {
    co_await connection.reply(error_reply(model.error()));
    co_return;
  }
  Json body = model_row(context, *model);
  body["data"] = Json::array({model_row(context, *model)});
  co_await connection.reply(json_reply(200, body));
}

}  // namespace hearth::server
