// What the server is doing: /stats as JSON, /metrics for Prometheus.
#include <algorithm>
#include <chrono>

#include "server/handlers.h"

namespace hearth::server {
namespace {

constexpr double usable_share = 0.75;       // of the device's memory
constexpr std::size_t bytes_of_number = 2;  // in KV caches

/// Longest context whose KV cache fits beside the weights: advice, nothing is refused for it.
std::size_t safe_context(const engine::ModelInfo& info, std::size_t usable) {
  const auto window = std::size_t(std::max(0, info.context_length));
  const std::size_t fixed = info.weight_bytes + info.kv_window_size * bytes_of_number;
  if (usable <= fixed) return 0;
  if (info.kv_token_size == 0) return window;
  const std::size_t tokens = (usable - fixed) / (info.kv_token_size * bytes_of_number);
  return window > 0 ? std::min(window, tokens) : tokens;
}

Json server_block(const Context& context) {
  using std::chrono::milliseconds;
  const auto started = std::chrono::duration_cast<milliseconds>(context.started.time_since_epoch());
  return {{"owner", "serve"},
          {"model", context.model ? Json(context.model_name) : Json()},
          {"version", HEARTH_VERSION},
          {"started_at", started.count()}};
}

Json batch_block(const Context& context, const Gauges& now) {
  return {{"configured", now.rows_max},         {"mode", context.batch_mode()},
          {"batched", now.rows_max != 1},       {"active_rows", now.rows_active},
          {"pending_rows", now.rows_waiting},   {"submitted_rows", now.rows_submitted},
          {"finished_rows", now.rows_finished}, {"cancelled_rows", now.rows_cancelled},
          {"kv_bytes", now.kv_bytes},           {"kv_budget_bytes", nullptr}};
}

/// There is no such cache yet: every prompt is read from its beginning.
Json prompt_cache_block() {
  return {{"entries", 0}, {"bytes", 0}, {"max_bytes", 0}, {"hits", 0}, {"misses", 0}};
}

Json kv_block(const engine::ModelInfo& info) {
  return {{"mode", "bf16"},
          {"layers", {{"bf16", info.global_layers + info.sliding_layers}}},
          {"attention", {{"global", info.global_layers}, {"sliding_window", info.sliding_layers}}}};
}

Json admission_block(const engine::ModelInfo& info, std::size_t memory) {
  const auto usable = std::size_t(double(memory) * usable_share);
  return {{"max_safe_context", memory > 0 ? Json(safe_context(info, usable)) : Json()},
          {"enforced_context_tokens", info.context_length > 0 ? Json(info.context_length) : Json()},
          {"memory_budget_bytes", nullptr},
          {"usable_bytes", usable},
          {"weights_bytes", info.weight_bytes}};
}

Json backend_block(const Gauges& now) {
  const auto backend = engine::backend();
  return {{"name", backend.pack},
          {"device", backend.device},
          {"memory_total_bytes", now.memory_total},
          {"memory_active_bytes", now.memory_active},
          {"memory_peak_bytes", now.memory_peak},
          {"memory_cache_bytes", now.memory_cache}};
}

Json stats_body(Context& context) {
  const Gauges now = context.gauges();
  Json body{{"server", server_block(context)},
            {"batch", batch_block(context, now)},
            {"prompt_cache", prompt_cache_block()},
            {"response_store", context.responses.stats()}};
  if (!context.model) return body;
  const auto& info = context.model->info;
  body["kv_quant"] = kv_block(info);
  body["admission"] = admission_block(info, now.memory_total);
  if (context.model->engine) body["backend"] = backend_block(now);
  return body;
}

}  // namespace

Handled stats(Context& context, Connection& connection, const Route&) {
  co_await connection.reply(json_reply(200, stats_body(context)));
}

Handled metrics(Context& context, Connection& connection, const Route&) {
  HttpReply reply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = context.metrics.print(context.gauges())};
  co_await connection.reply(std::move(reply));
}

}  // namespace hearth::server
