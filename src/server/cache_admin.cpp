// What an administrator may do with the prompt caches of the resident models.
#include <algorithm>

#include "server/exchange.h"
#include "server/forward.h"
#include "server/generate.h"
#include "server/handlers.h"

namespace hearth::server {
namespace {

constexpr auto flush_limit = std::chrono::seconds(120);

Json flushed_body(const engine::FlushReport& report, const engine::DiskCacheStats& disk) {
  return {{"durable", report.durable},
          {"flushedSnapshots", report.flushed},
          {"missingSnapshots", report.missing},
          {"pendingSnapshots", 0},
          {"pendingSpills", disk.pending_spills},
          {"pendingSpillBytes", disk.pending_spill_bytes},
          {"droppedSpills", disk.dropped_spills},
          {"failedSpills", disk.failed_spills},
          {"elapsedMs", report.milliseconds},
          {"entries", disk.entries},
          {"longest_durable_prefix_tokens", disk.longest_prefix}};
}

/// Adds one model's to what all came to.
void add(Json& all, const Json& one) {
  for (auto& [name, value] : all.items()) {
    const Json& more = one[name];
    if (name == "durable") {
      value = value.get<bool>() && more.get<bool>();
    } else if (name == "longest_durable_prefix_tokens") {
      value = std::max(value.get<int>(), more.get<int>());
    } else if (value.is_number_float()) {
      value = value.get<double>() + more.get<double>();
    } else {
      value = value.get<std::uint64_t>() + more.get<std::uint64_t>();
    }
  }
}

/// What a worker answered; not durable when it told nothing.
Json told_by_worker(const Result<std::string>& answer) {
  if (answer) {
    const auto told = parse_json(*answer);
    if (told && told->is_object() && told->contains("durable")) return *told;
  }
  return flushed_body({.durable = false}, {});
}

/// Flushes one resident model's cache, wherever it lives.
asio::awaitable<Result<Json>> flush(Context& context, Connection& connection, ServedPtr served) {
  if (served->worker) {
    const auto answer =
        co_await ask_worker(context, connection, *served, post_request("/admin/cache/flush", "{}"));
    co_return told_by_worker(answer);
  }
  if (!served->model || !served->model->engine) co_return flushed_body({}, {});
  auto work = [served]() -> Result<engine::FlushReport> {
    return served->model->engine->flush_cache(flush_limit);
  };
  const auto report = co_await context.prepare(std::move(work));
  if (!report) co_return fail(report.error());
  co_return flushed_body(*report, served->model->stats().ssd_cache);
}

}  // namespace

Handled flush_cache(Context& context, Connection& connection, const Route&) {
  const auto known = co_await context.wait_for_rows(connection);
  if (connection.gone()) co_return;
  if (!known) {
    co_await connection.reply(error_reply(known.error()));
    co_return;
  }
  Json all = flushed_body({}, {});
  for (std::size_t i = 0; i < context.pool.models().size(); ++i) {
    auto served = context.pool.resident(i);
    if (!served) continue;
    const auto one = co_await flush(context, connection, std::move(served));
    if (!one) {
      co_await connection.reply(error_reply(one.error()));
      co_return;
    }
    add(all, *one);
  }
  const int status = all["durable"].get<bool>() ? 200 : 503;
  HttpReply reply = json_reply(status, all);
  co_await connection.reply(std::move(reply));
}

Handled close_cache_session(Context& context, Connection& connection, const Route&) {
  const std::string sent = connection.request().body;
  const auto body = object_body(sent);
  if (!body) {
    co_await connection.reply(error_reply(body.error()));
    co_return;
  }
  const bool named = body->contains("session_id") && (*body)["session_id"].is_string();
  for (std::size_t i = 0; named && i < context.pool.models().size(); ++i) {
    const auto served = context.pool.resident(i);
    if (!served) continue;
    if (served->worker) {
      co_await ask_worker(context, connection, *served,
                          post_request("/admin/cache/session/close", sent));
    } else if (served->model && served->model->engine) {
      served->model->engine->close_session((*body)["session_id"].get<std::string>());
    }
  }
  HttpReply reply = json_reply(200, {{"closed", named}});
  co_await connection.reply(std::move(reply));
}

}  // namespace hearth::server
