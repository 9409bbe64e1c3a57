#include <chrono>
#include <utility>

#include "server/handlers.h"
#include "server/sse.h"

namespace hearth::server {
namespace {

/// A request that is under way in the engine.
struct Prepared {
  services::Request request;
  std::unique_ptr<services::Answer> answer;
  std::unique_ptr<services::Encoder> encoder;
};

Result<Prepared> prepare(const std::string& body, const services::Protocol& protocol,
                         const std::shared_ptr<services::LoadedModel>& model,
                         const services::ServerDefaults& defaults, services::ReplyInfo info) {
  auto json = parse_json(body);
  if (!json) return fail(json.error());
  if (!json->is_object()) {
    return fail(ErrorCode::invalid_request, "invalid JSON body: expected an object");
  }
  auto request = protocol.parse(*json, info.model);
  if (!request) return fail(request.error());
  auto answer = services::Answer::start(model, *request, defaults);
  if (!answer) return fail(answer.error());
  auto encoder = protocol.encoder(*request, std::move(info));
  return Prepared{std::move(*request), std::move(*answer), std::move(encoder)};
}

asio::awaitable<void> refuse(Connection& connection, const services::Protocol& protocol,
                             const Error& error) {
  auto reply = error_reply(error);
  reply.body = protocol.error(error).dump(-1, ' ', false, Json::error_handler_t::replace);
  co_await connection.reply(std::move(reply));
}

}  // namespace

Handled generate(Context& context, Connection& connection, const Route& route) {
  const auto arrived = std::chrono::steady_clock::now();
  const services::Protocol& protocol = *route.protocol;
  const auto model = co_await context.wait_for_model(connection);
  if (connection.gone()) co_return;
  if (!model) {
    co_await refuse(connection, protocol, model.error());
    co_return;
  }
  const services::ReplyInfo info{
      .model = context.model_name,
      .fingerprint = context.fingerprint,
      .created = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()),
      .tokenizer = (*model)->tokenizer.get()};
  auto work = [body = std::move(connection.request().body), &protocol, loaded = *model,
               defaults = context.options.defaults, info]() mutable {
    return prepare(body, protocol, loaded, defaults, std::move(info));
  };
  connection.watch();
  auto prepared = co_await context.prepare(std::move(work));
  if (!prepared) {
    co_await refuse(connection, protocol, prepared.error());
    co_return;
  }
  const Running running{*prepared->answer, *prepared->encoder, protocol.error, arrived};
  if (prepared->request.stream) {
    co_await stream_answer(context, connection, running);
  } else {
    co_await send_answer(context, connection, running);
  }
}

}  // namespace hearth::server
