#include <fmt/format.h>

#include <chrono>

#include "server/handlers.h"
#include "server/model_name.h"
#include "services/chat/openai_common.h"
#include "services/model.h"

namespace hearth::server {
namespace {

std::int64_t unix_seconds(std::chrono::system_clock::time_point at) {
  return std::chrono::system_clock::to_time_t(at);
}

std::string iso_time(std::int64_t seconds) {
  const std::time_t at = seconds;
  std::tm utc{};
  gmtime_r(&at, &utc);
  char text[32];
  const auto n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, n};
}

Json gen_defaults(const services::GenerationDefaults& own) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  if (!own.temperature && !own.top_p && !own.top_k) return nullptr;
  return {{"temperature", or_null(own.temperature)},
          {"top_p", or_null(own.top_p)},
          {"top_k", or_null(own.top_k)}};
}

Json model_row(const Context& context) {
  const auto& model = *context.model;
  const auto created = unix_seconds(context.started);
  const bool chats = model.chat_template != nullptr;
  const bool tools = chats && model.chat_template->supports_tools();
  const bool held = context.options.defaults.grammars;
  return {{"id", context.model_name},
          {"object", "model"},
          {"created", created},
          {"owned_by", "hearth"},
          {"type", "model"},
          {"display_name", context.model_name},
          {"created_at", iso_time(created)},
          {"context_window", model.info.context_length},
          {"max_input_tokens", model.info.context_length},
          {"reasoning", chats && model.chat_template->supports_thinking()},
          {"vision", false},
          {"audio", false},
          {"batch_mode", "batch"},
          {"tools", tools},
          {"structured_output", held},
          {"embeddings", false},
          {"adapters", false},
          {"training", false},
          {"capabilities",
           {{"chat_completions", chats},
            {"text_completions", true},
            {"anthropic_messages", chats},
            {"responses", chats},
            {"streaming", true},
            {"tools", tools},
            {"structured_output", held},
            {"logprobs", true},
            {"embeddings", false},
            {"vision", false},
            {"audio", false},
            {"adapters", false},
            {"training", false}}},
          {"gen_defaults", gen_defaults(model.defaults)}};
}

Json stats_body(Context& context) {
  const auto started =
      std::chrono::duration_cast<std::chrono::milliseconds>(context.started.time_since_epoch());
  Json body{{"server",
             {{"owner", "serve"},
              {"model", context.model ? Json(context.model_name) : Json()},
              {"started_at", started.count()}}}};
  const Gauges now = context.gauges();
  body["batch"] = {{"mode", "batch"},
                   {"active_rows", now.rows_active},
                   {"pending_rows", now.rows_waiting},
                   {"submitted_rows", now.rows_submitted},
                   {"finished_rows", now.rows_finished},
                   {"cancelled_rows", now.rows_cancelled},
                   {"kv_bytes", now.kv_bytes}};
  body["response_store"] = context.responses.stats();
  if (!context.model) return body;
  body["admission"] = {{"max_context", context.model->info.context_length},
                       {"weights_bytes", context.model->info.weight_bytes}};
  if (!context.model->engine) return body;
  const auto backend = engine::backend();
  body["backend"] = {{"name", backend.pack},
                     {"device", backend.device},
                     {"memory_total_bytes", backend.memory_bytes},
                     {"memory_active_bytes", now.memory_active},
                     {"memory_peak_bytes", now.memory_peak},
                     {"memory_cache_bytes", now.memory_cache}};
  return body;
}

}  // namespace

Handled health(Context&, Connection& connection, const Route&) {
  HttpReply reply{.body = R"({"status": "ok"})"};
  co_await connection.reply(std::move(reply));
}

Handled about(Context& context, Connection& connection, const Route&) {
  Json body{{"name", "hearth"}, {"version", HEARTH_VERSION}};
  body["model"] = context.model ? Json(context.model_name) : Json();
  body["endpoints"] = Json::array();
  for (const Route& route : routes()) {
    body["endpoints"].push_back(fmt::format("{} {}", route.method, route.path));
  }
  co_await connection.reply(json_reply(200, body));
}

Handled list_models(Context& context, Connection& connection, const Route&) {
  const auto model = co_await context.wait_for_model(connection);
  if (connection.gone()) co_return;
  if (!model) {
    co_await connection.reply(error_reply(model.error()));
    co_return;
  }
  const Json data = Json::array({model_row(context)});
  const Json body{{"object", "list"},
                  {"data", data},
                  {"has_more", false},
                  {"first_id", context.model_name},
                  {"last_id", context.model_name},
                  {"models", data}};
  co_await connection.reply(json_reply(200, body));
}

Handled show_model(Context& context, Connection& connection, const Route& route) {
  const auto model = co_await context.wait_for_model(connection);
  if (connection.gone()) co_return;
  if (!model) {
    co_await connection.reply(error_reply(model.error()));
    co_return;
  }
  const std::string id = route.rest(connection.request().path);
  if (!names_served_model(context, id)) {
    co_await connection.reply(error_reply(unknown_model(context, id)));
    co_return;
  }
  Json body = model_row(context);
  body["data"] = Json::array({model_row(context)});
  co_await connection.reply(json_reply(200, body));
}

Handled stats(Context& context, Connection& connection, const Route&) {
  co_await connection.reply(json_reply(200, stats_body(context)));
}

Handled metrics(Context& context, Connection& connection, const Route&) {
  HttpReply reply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = context.metrics.print(context.gauges())};
  co_await connection.reply(std::move(reply));
}

}  // namespace hearth::server
