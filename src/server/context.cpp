#include "server/context.h"

#include <algorithm>

#include "server/model_name.h"

namespace hearth::server {

Context::Context(ServerOptions server_options)
    : options(std::move(server_options)), workers(std::size_t(std::max(1, options.workers))),
      bodies(options.limits.bodies_bytes) {}

void Context::wake_all() {
  for (Connection* connection : connections) connection->wakeup().notify();
}

asio::awaitable<Result<void>> Context::wait_for_models(Connection& connection) {
  if (!pool.is_open()) connection.watch();
  while (!pool.is_open()) {
    if (failure) co_return fail(*failure);
    if (stopping) co_return fail(ErrorCode::internal, "the server is stopping");
    if (connection.gone()) co_return fail(ErrorCode::cancelled, "request cancelled");
    co_await connection.wakeup().wait_for(options.limits.ping_interval);
  }
  co_return Result<void>();
}

asio::awaitable<Result<Lease>> Context::lease(Connection& connection, const Json& body) {
  const auto known = co_await wait_for_models(connection);
  if (!known) co_return fail(known.error());
  const auto model = model_asked_for(*this, body);
  if (!model) co_return fail(model.error());
  const auto& down = pool.down(*model);
  if (down && !names_a_model(body)) co_return fail(*down);
  auto lease = co_await pool.lease(connection, *model);
  co_return lease;
}

asio::awaitable<Result<Lease>> Context::lease(Connection& connection) {
  const Json anything = Json::object();
  auto first = co_await lease(connection, anything);
  co_return first;
}

asio::awaitable<Result<void>> Context::wait_for_rows(Connection& connection) {
  const auto known = co_await wait_for_models(connection);
  if (!known) co_return fail(known.error());
  if (pool.was_resident(0)) co_return Result<void>();
  const auto first = co_await lease(connection);
  if (!first) co_return fail(first.error());
  co_return Result<void>();
}

namespace {

/// Adds what the engine of a resident model counts.
void add_engine(Gauges& gauges, const engine::EngineStats& stats) {
  gauges.rows_max += stats.max_rows;
  gauges.rows_active += stats.active_rows;
  gauges.rows_waiting += stats.waiting;
  gauges.rows_submitted += stats.submitted;
  gauges.rows_finished += stats.finished;
  gauges.rows_cancelled += stats.cancelled;
  gauges.engine_steps += stats.steps;
  gauges.tokens_prefilled += stats.prompt_tokens;
  gauges.tokens_sampled += stats.completion_tokens;
  gauges.kv_bytes += stats.kv_bytes;
  gauges.kv_projected_bytes += stats.kv_projected_bytes;
  gauges.kv_budget_bytes += stats.kv_budget_bytes;
  gauges.memory_budget_bytes = std::max(gauges.memory_budget_bytes, stats.memory_budget_bytes);
  gauges.safe_context = std::max(gauges.safe_context, stats.safe_context);
  gauges.enforced_context = std::max(gauges.enforced_context, stats.enforced_context);
  gauges.prompt_cache += stats.prompt_cache;
  gauges.ssd_cache += stats.ssd_cache;
  gauges.checkpoints += stats.checkpoints;
}

}  // namespace

Gauges Context::gauges() {
  Gauges gauges{.connections = int(connections.size()),
                .preparing = preparing,
                .model = first_model() ? first_model()->name : "",
                .started = started_seconds()};
  const Json stored = responses.stats();
  gauges.responses_stored = stored["entries"];
  gauges.responses_bytes = stored["bytes"];
  add_engine(gauges, pool.retired());
  bool engines = false;
  for (std::size_t i = 0; i < pool.models().size(); ++i) {
    const auto served = pool.resident(i);
    if (!served) continue;
    ++gauges.models_resident;
    gauges.weights_bytes += served->bytes;
    if (served->model && served->model->stats) add_engine(gauges, served->model->stats());
    engines |= served->model && served->model->engine;
  }
  if (!engines) return gauges;
  const auto memory = engine::memory();
  gauges.memory_active = memory.active;
  gauges.memory_peak = memory.peak;
  gauges.memory_cache = memory.cache;
  gauges.memory_total = engine::backend().memory_bytes;
  return gauges;
}

}  // namespace hearth::server
