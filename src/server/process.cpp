// What only processes are about: GET /engine, and what a parent tells a worker on its own socket.
#include "server/generate.h"
#include "server/handlers.h"
#include "server/worker.h"
#include "server/worker_host.h"

namespace hearth::server {
namespace {

Json resident_models(const Context& context) {
  Json out = Json::array();
  for (std::size_t i = 0; i < context.pool.models().size(); ++i) {
    const auto served = context.pool.resident(i);
    if (!served) continue;
    Json row{{"id", served->name}, {"requests", context.pool.policy().held(i)}};
    if (served->worker) {
      row["pid"] = served->worker->pid();
      row["socket"] = served->worker->socket().string();
      row["restarts"] = context.workers_host->restarts(i);
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json engine_body(Context& context) {
  const auto first = context.first_model();
  const auto* worker = first ? first->worker.get() : nullptr;
  Json body{{"isolated", context.isolated()},
            {"pid", worker ? Json(worker->pid()) : Json()},
            {"restarts", context.isolated() ? context.workers_host->restarts(0) : 0},
            {"socket", worker ? Json(worker->socket().string()) : Json()},
            {"response_store", context.responses.stats()},
            {"pool", {{"resident", resident_models(context)}, {"default", nullptr}}}};
  if (context.pool.is_open()) body["pool"]["default"] = context.pool.models().front().id;
  return body;
}

}  // namespace

Handled engine_process(Context& context, Connection& connection, const Route&) {
  co_await connection.reply(json_reply(200, engine_body(context)));
}

Handled drain(Context& context, Connection& connection, const Route&) {
  const Json body{{"draining", true}};
  co_await connection.reply(json_reply(200, body));
  context.begin_stop();
}

/// What its parent's models divide among them.
Handled share(Context& context, Connection& connection, const Route&) {
  const auto body = object_body(connection.request().body);
  const auto first = context.first_model();
  if (body && first && first->model && first->model->engine) {
    first->model->engine->share(
        {.engines = body->value("engines", 1), .others = body->value("others", std::size_t{0})});
  }
  const Json done = Json::object();
  co_await connection.reply(json_reply(200, done));
}

}  // namespace hearth::server
