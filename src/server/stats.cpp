// What the server is doing: /stats as JSON, /metrics for Prometheus.
#include <chrono>

#include "server/exchange.h"
#include "server/forward.h"
#include "server/handlers.h"
#include "server/worker_metrics.h"

namespace hearth::server {
namespace {

/// A size or a limit, null where there is none.
Json unless_zero(std::size_t value) { return value > 0 ? Json(value) : Json(); }

Json server_block(const Context& context) {
  using std::chrono::milliseconds;
  const auto started = std::chrono::duration_cast<milliseconds>(context.started.time_since_epoch());
  return {{"owner", "serve"},
          {"model", context.first_model() ? Json(context.first_model()->name) : Json()},
          {"version", HEARTH_VERSION},
          {"started_at", started.count()}};
}

Json batch_block(const Context& context, const Gauges& now) {
  const auto first = context.first_model();
  return {{"configured", now.rows_max},
          {"mode", first ? first->batch_mode() : "batch"},
          {"batched", now.rows_max != 1},
          {"active_rows", now.rows_active},
          {"pending_rows", now.rows_waiting},
          {"submitted_rows", now.rows_submitted},
          {"finished_rows", now.rows_finished},
          {"cancelled_rows", now.rows_cancelled},
          {"kv_bytes", now.kv_bytes},
          {"kv_projected_bytes", now.kv_projected_bytes},
          {"kv_budget_bytes", unless_zero(now.kv_budget_bytes)}};
}

Json prompt_cache_block(const engine::PromptCacheStats& now) {
  return {{"entries", now.entries}, {"bytes", now.bytes},   {"max_bytes", now.max_bytes},
          {"hits", now.hits},       {"misses", now.misses}, {"hit_tokens", now.hit_tokens},
          {"evicted", now.evicted}};
}

Json ssd_cache_block(const engine::DiskCacheStats& now) {
  return {{"dir", now.folder.string()},
          {"entries", now.entries},
          {"bytes", now.bytes},
          {"max_bytes", now.max_bytes > 0 ? Json(now.max_bytes) : Json()},
          {"restores", now.restores},
          {"spills", now.spills},
          {"restore_ms_last", now.restore_ms_last},
          {"demotions", now.demotions},
          {"pending_snapshots", 0},
          {"pending_spills", now.pending_spills},
          {"pending_spill_bytes", now.pending_spill_bytes},
          {"dropped_spills", now.dropped_spills},
          {"failed_spills", now.failed_spills},
          {"bad_files", now.bad_files},
          {"longest_durable_prefix_tokens", now.longest_prefix}};
}

Json checkpoints_block(const engine::CheckpointStats& now) {
  return {{"every", now.every},
          {"written", now.written},
          {"failed", now.failed},
          {"resumed", now.resumed},
          {"replayed_tokens", now.replayed_tokens}};
}

Json kv_block(const engine::ModelInfo& info) {
  return {{"mode", "bf16"},
          {"layers", {{"bf16", info.global_layers + info.sliding_layers}}},
          {"attention", {{"global", info.global_layers}, {"sliding_window", info.sliding_layers}}}};
}

Json admission_block(const engine::ModelInfo& info, const Gauges& now) {
  return {{"max_safe_context", unless_zero(std::size_t(now.safe_context))},
          {"enforced_context_tokens", unless_zero(std::size_t(now.enforced_context))},
          {"memory_budget_bytes", unless_zero(now.memory_budget_bytes)},
          {"usable_bytes", info.usable_bytes},
          {"weights_bytes", info.weight_bytes}};
}

std::string_view word(services::PoolPolicy::State state) {
  using enum services::PoolPolicy::State;
  switch (state) {
    case absent:
      return "absent";
    case loading:
      return "loading";
    case resident:
      return "resident";
    case unloading:
      return "unloading";
  }
  return "absent";
}

/// Models that are there, come or go, or are waited for.
Json pool_block(const Context& context) {
  const auto& policy = context.pool.policy();
  const auto& catalog = context.pool.models();
  Json models = Json::array();
  for (std::size_t i = 0; i < catalog.size(); ++i) {
    const auto state = policy.state(i);
    if (state == services::PoolPolicy::State::absent && policy.waiting(i) == 0) continue;
    models.push_back({{"id", catalog[i].id},
                      {"state", word(state)},
                      {"requests", policy.held(i)},
                      {"waiting", policy.waiting(i)},
                      {"pinned", catalog[i].pinned}});
  }
  const auto& limits = policy.limits();
  const auto budget = limits.memory_bytes;
  return {{"configured", limits.resident},
          {"known", context.pool.listed().size()},
          {"bytes", policy.bytes()},
          {"max_bytes", budget > 0 ? Json(budget) : Json()},
          {"models", std::move(models)}};
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
            {"prompt_cache", prompt_cache_block(now.prompt_cache)},
            {"response_store", context.responses.stats()}};
  if (!now.ssd_cache.folder.empty()) body["ssd_cache"] = ssd_cache_block(now.ssd_cache);
  if (now.checkpoints.every > 0) body["checkpoints"] = checkpoints_block(now.checkpoints);
  if (context.pool.is_open()) body["pool"] = pool_block(context);
  const auto first = context.first_model();
  if (!first || !first->model) return body;
  const auto& info = first->model->info;
  body["kv_quant"] = kv_block(info);
  body["admission"] = admission_block(info, now);
  if (first->model->engine) body["backend"] = backend_block(now);
  return body;
}

/// What this process tells, and of the first model's worker what only that knows.
Json stats_with(Json body, const std::string& workers) {
  const auto told = parse_json(workers);
  if (!told || !told->is_object()) return body;
  for (const auto& [name, block] : told->items()) {
    if (!body.contains(name) || name == "batch" || name == "prompt_cache") body[name] = block;
  }
  return body;
}

}  // namespace

Handled stats(Context& context, Connection& connection, const Route&) {
  Json body = stats_body(context);
  const auto first = context.first_model();
  if (first && first->worker) {
    const auto told = co_await ask_worker(context, connection, *first, get_request("/stats"));
    if (told) body = stats_with(std::move(body), *told);
  }
  co_await connection.reply(json_reply(200, body));
}

Handled metrics(Context& context, Connection& connection, const Route&) {
  HttpReply reply{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = {}};
  if (context.isolated()) {
    std::vector<std::string> told;
    for (std::size_t i = 0; i < context.pool.models().size(); ++i) {
      const auto served = context.pool.resident(i);
      if (!served) continue;
      auto text = co_await ask_worker(context, connection, *served, get_request("/metrics"));
      if (text) told.push_back(std::move(*text));
    }
    reply.body = context.metrics.print_front(context.gauges());
    reply.body += summed_metrics(told, reply.body);
  } else {
    reply.body = context.metrics.print(context.gauges());
  }
  co_await connection.reply(std::move(reply));
}

}  // namespace hearth::server
