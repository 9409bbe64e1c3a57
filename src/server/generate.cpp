#include "server/generate.h"

#include <chrono>
#include <utility>

#include "server/envelope.h"
#include "server/handlers.h"
#include "server/session.h"
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

struct Preparation {
  Json body;
  const services::Protocol& protocol;
  ServedPtr served;
  services::ReplyInfo info;
  std::chrono::steady_clock::time_point arrived;
  Extras extras;
  SessionHeaders session;

  Result<Prepared> operator()();
};

Result<Prepared> Preparation::operator()() {
  Result<Json> json = std::move(body);
  if (extras.complete) json = extras.complete(std::move(*json), *served);
  if (!json) return fail(json.error());
  Prepared out;
  if (extras.at_once) out.ready = extras.at_once(*json, *served);
  if (out.ready) return out;
  auto request = protocol.parse(*json, info.model);
  if (!request) return fail(request.error());
  if (served->defaults.sessions) request->session = cache_session(*json, session);
  if (!served->defaults.grammars) out.warning = services::tell_constraint(*request);
  auto answer = services::Answer::start(served->model, *request, served->defaults, arrived);
  if (!answer) return fail(answer.error());
  info.prompt_tokens = (*answer)->usage().prompt_tokens;
  out.encoder = protocol.encoder(*request, std::move(info));
  out.request = std::move(*request);
  out.answer = std::move(*answer);
  return out;
}

services::ReplyInfo reply_info(const Served& served) {
  return {.model = served.name,
          .fingerprint = served.fingerprint,
          .created = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()),
          .tokenizer = served.model->tokenizer.get()};
}

}  // namespace

Result<Json> object_body(const std::string& body) {
  auto json = parse_json(body);
  if (json && !json->is_object()) {
    return fail(ErrorCode::invalid_request, "invalid JSON body: expected an object");
  }
  return json;
}

asio::awaitable<Result<Json>> read_object(Context& context, Connection& connection) {
  auto parse = [body = std::move(connection.request().body)] { return object_body(body); };
  auto json = co_await context.prepare(std::move(parse));
  co_return json;
}

namespace {

struct Asked {
  Json body;
  Lease lease;
};

/// The request's body and the model that it names. Errors: of read_object() and Context::lease().
asio::awaitable<Result<Asked>> read_and_lease(Context& context, Connection& connection) {
  auto body = co_await read_object(context, connection);
  if (!body) co_return fail(body.error());
  auto lease = co_await context.lease(connection, *body);
  if (!lease) co_return fail(lease.error());
  co_return Asked{std::move(*body), std::move(*lease)};
}

}  // namespace

HttpReply protocol_error(Connection& connection, const services::Protocol& protocol,
                         const Error& error) {
  auto reply = error_reply(error);
  reply.body = services::dump(with_request_id(protocol.error(error), connection.common_headers()));
  return reply;
}

asio::awaitable<void> generate_with(Context& context, Connection& connection,
                                    const services::Protocol& protocol, Extras extras) {
  const auto arrived = std::chrono::steady_clock::now();
  auto asked = co_await read_and_lease(context, connection);
  if (connection.gone()) co_return;
  if (!asked) {
    co_await connection.reply(protocol_error(connection, protocol, asked.error()));
    co_return;
  }
  auto& [body, lease] = *asked;
  Preparation work{.body = std::move(body),
                   .protocol = protocol,
                   .served = lease.served(),
                   .info = reply_info(*lease),
                   .arrived = arrived,
                   .extras = extras,
                   .session = session_headers(connection.request())};
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
    std::function<Result<Json>(const Json& body, const Served& served)> work) {
  auto asked = co_await read_and_lease(context, connection);
  if (connection.gone()) co_return;
  if (!asked) {
    co_await connection.reply(protocol_error(connection, protocol, asked.error()));
    co_return;
  }
  auto& [body, lease] = *asked;
  auto job = [work = std::move(work), body = std::move(body), served = lease.served()] {
    return work(body, *served);
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
