#include "server/generate.h"

#include <chrono>
#include <utility>

#include "server/envelope.h"
#include "server/handlers.h"
#include "server/model_name.h"
#include "server/sse.h"
#include "services/chat/openai_common.h"
#include "services/chat/told_constraint.h"

namespace hearth::server {
namespace {

/// A request that is under way in the engine, or already answered.
struct Prepared {
  services::Request request;
  std::unique_ptr<services::Answer> answer;
  std::unique_ptr<services::Encoder> encoder;
  std::optional<Json> ready;  // the whole reply: nothing was submitted
  std::string warning;        // a header's; empty: none
};

/// Errors: invalid_request; not_found, for the name of another model.
Result<Json> checked_body(const Context& context, const std::string& body) {
  auto json = object_body(body);
  if (!json) return json;
  if (auto named = check_model_name(context, *json); !named) return fail(named.error());
  return json;
}

struct Preparation {
  std::string body;
  const services::Protocol& protocol;
  ModelPtr model;
  services::ServerDefaults defaults;
  services::ReplyInfo info;
  std::chrono::steady_clock::time_point arrived;
  Extras extras;
  const Context& context;

  Result<Prepared> operator()();
};

Result<Prepared> Preparation::operator()() {
  auto json = checked_body(context, body);
  if (json && extras.complete) json = extras.complete(std::move(*json), model);
  if (!json) return fail(json.error());
  Prepared out;
  if (extras.at_once) out.ready = extras.at_once(*json);
  if (out.ready) return out;
  auto request = protocol.parse(*json, info.model);
  if (!request) return fail(request.error());
  if (!defaults.grammars) out.warning = services::tell_constraint(*request);
  auto answer = services::Answer::start(model, *request, defaults, arrived);
  if (!answer) return fail(answer.error());
  info.prompt_tokens = (*answer)->usage().prompt_tokens;
  out.encoder = protocol.encoder(*request, std::move(info));
  out.request = std::move(*request);
  out.answer = std::move(*answer);
  return out;
}

services::ReplyInfo reply_info(const Context& context, const services::LoadedModel& model) {
  return {.model = context.model_name,
          .fingerprint = context.fingerprint,
          .created = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()),
          .tokenizer = model.tokenizer.get()};
}

}  // namespace

Result<Json> object_body(const std::string& body) {
  auto json = parse_json(body);
  if (json && !json->is_object()) {
    return fail(ErrorCode::invalid_request, "invalid JSON body: expected an object");
  }
  return json;
}

HttpReply protocol_error(Connection& connection, const services::Protocol& protocol,
                         const Error& error) {
  auto reply = error_reply(error);
  reply.body = services::dump(with_request_id(protocol.error(error), connection.common_headers()));
  return reply;
}

asio::awaitable<void> generate_with(Context& context, Connection& connection,
                                    const services::Protocol& protocol, Extras extras) {
  const auto arrived = std::chrono::steady_clock::now();
  const auto model = co_await context.wait_for_model(connection);
  if (connection.gone()) co_return;
  if (!model) {
    co_await connection.reply(protocol_error(connection, protocol, model.error()));
    co_return;
  }
  Preparation work{.body = std::move(connection.request().body),
                   .protocol = protocol,
                   .model = *model,
                   .defaults = context.options.defaults,
                   .info = reply_info(context, **model),
                   .arrived = arrived,
                   .extras = extras,
                   .context = context};
  connection.watch();
  auto prepared = co_await context.prepare(std::move(work));
  if (!prepared) {
    co_await connection.reply(protocol_error(connection, protocol, prepared.error()));
    co_return;
  }
  if (!prepared->warning.empty()) {
    connection.common_headers().emplace_back("Warning", prepared->warning);
  }
  if (prepared->ready) {
    HttpReply reply = json_reply(200, *prepared->ready);
    co_await connection.reply(std::move(reply));
    co_return;
  }
  Running running{.answer = *prepared->answer,
                  .encoder = *prepared->encoder,
                  .error = protocol.error,
                  .stream_type = protocol.stream_type};
  if (extras.finished) {
    running.completed = [&prepared, &extras] {
      extras.finished(prepared->encoder->body(prepared->answer->usage()));
    };
  }
  if (prepared->request.stream) {
    co_await stream_answer(context, connection, std::move(running));
  } else {
    co_await send_answer(context, connection, std::move(running));
  }
}

asio::awaitable<void> answer_about(
    Context& context, Connection& connection, const services::Protocol& protocol,
    std::function<Result<Json>(const Json& body, const ModelPtr& model)> work) {
  const auto model = co_await context.wait_for_model(connection);
  if (connection.gone()) co_return;
  if (!model) {
    co_await connection.reply(protocol_error(connection, protocol, model.error()));
    co_return;
  }
  auto job = [work = std::move(work), body = std::move(connection.request().body), loaded = *model,
              &context]() -> Result<Json> {
    auto json = checked_body(context, body);
    if (!json) return json;
    return work(*json, loaded);
  };
  const auto result = co_await context.prepare(std::move(job));
  HttpReply reply =
      result ? json_reply(200, *result) : protocol_error(connection, protocol, result.error());
  co_await connection.reply(std::move(reply));
}

Handled generate(Context& context, Connection& connection, const Route& route) {
  Extras none;
  co_await generate_with(context, connection, *route.protocol, std::move(none));
}

}  // namespace hearth::server
