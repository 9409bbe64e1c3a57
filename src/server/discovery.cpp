#include <fmt/format.h>

#include <chrono>

#include "server/handlers.h"
#include "server/model_name.h"
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
  const bool structured = context.options.defaults.grammars;
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
          {"batch_mode", context.batch_mode()},
          {"tools", tools},
          {"structured_output", structured},
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
            {"structured_output", structured},
            {"logprobs", true},
            {"embeddings", false},
            {"vision", false},
            {"audio", false},
            {"adapters", false},
            {"training", false}}},
          {"gen_defaults", gen_defaults(model.defaults)}};
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

}  // namespace hearth::server
