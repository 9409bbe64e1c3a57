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

std::string_view Context::batch_mode() const {
  return model && model->stats && model->stats().max_rows == 1 ? "off" : "batch";
}

Gauges Context::gauges() {
  Gauges gauges{.connections = int(connections.size()),
                .preparing = preparing,
                .model = model ? model_name : "",
                .started = std::chrono::system_clock::to_time_t(started)};
  const Json stored = responses.stats();
  gauges.responses_stored = stored["entries"];
  gauges.responses_bytes = stored["bytes"];
  if (model) gauges.weights_bytes = model->info.weight_bytes;
  if (model && model->stats) {
    const auto stats = model->stats();
    gauges.rows_max = stats.max_rows;
    gauges.rows_active = stats.active_rows;
    gauges.rows_waiting = stats.waiting;
    gauges.rows_submitted = stats.submitted;
    gauges.rows_finished = stats.finished;
    gauges.rows_cancelled = stats.cancelled;
    gauges.engine_steps = stats.steps;
    gauges.tokens_prefilled = stats.prompt_tokens;
    gauges.tokens_sampled = stats.completion_tokens;
    gauges.kv_bytes = stats.kv_bytes;
  }
  if (model && model->engine) {
    const auto memory = engine::memory();
    gauges.memory_active = memory.active;
    gauges.memory_peak = memory.peak;
    gauges.memory_cache = memory.cache;
    gauges.memory_total = engine::backend().memory_bytes;
  }
  return gauges;
}

}  // namespace hearth::server
