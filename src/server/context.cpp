#include "server/context.h"

#include <algorithm>

namespace hearth::server {

Context::Context(ServerOptions server_options)
    : options(std::move(server_options)), workers(std::size_t(std::max(1, options.workers))),
      bodies(options.limits.bodies_bytes) {}

void Context::wake_all() {
  for (Connection* connection : connections) connection->wakeup().notify();
}

asio::awaitable<Result<std::shared_ptr<services::LoadedModel>>> Context::wait_for_model(
    Connection& connection) {
  if (!model) connection.watch();
  while (!model) {
    if (failure) co_return fail(*failure);
    if (stopping) co_return fail(ErrorCode::internal, "the server is stopping");
    if (connection.gone()) co_return fail(ErrorCode::cancelled, "request cancelled");
    co_await connection.wakeup().wait_for(options.limits.ping_interval);
  }
  co_return model;
}

Gauges Context::gauges() const {
  Gauges gauges{.connections = int(connections.size()), .preparing = preparing};
  if (model && model->stats) {
    const auto stats = model->stats();
    gauges.rows_active = stats.active_rows;
    gauges.rows_waiting = stats.waiting;
    gauges.rows_submitted = stats.submitted;
    gauges.rows_finished = stats.finished;
    gauges.rows_cancelled = stats.cancelled;
    gauges.engine_steps = stats.steps;
    gauges.kv_bytes = stats.kv_bytes;
  }
  if (model && model->engine) {
    const auto memory = engine::memory();
    gauges.memory_active = memory.active;
    gauges.memory_peak = memory.peak;
    gauges.memory_cache = memory.cache;
  }
  return gauges;
}

}  // namespace hearth::server
