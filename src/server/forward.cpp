#include "server/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "server/envelope.h"
#include "server/exchange.h"
#include "server/frame_relay.h"
#include "server/generate.h"
#include "server/worker.h"
#include "services/chat/fields.h"
#include "services/chat/openai_common.h"
#include "services/chat/responses_history.h"

namespace hearth::server {
namespace {

constexpr std::chrono::milliseconds a_moment{20};

const Error lost{ErrorCode::engine_lost,
                 "the process that ran the model is gone; it is being started anew", ""};
const Error stopped{ErrorCode::internal, "the server was stopped before this answer was complete",
                    ""};

/// A body on its way to a worker.
struct Outgoing {
  Json body;         // as it was sent
  std::string text;  // as it goes on
  Json input;        // of the Responses wire: what the answer is stored with
};

bool is_responses(const Route& route) { return route.protocol == &services::openai_responses; }

/// Parses the body and puts the stored conversation into it, which the worker does not have.
struct Reading {
  std::string text;
  bool responses;
  services::ResponseStore& store;

  Result<Outgoing> operator()() {
    auto body = object_body(text);
    if (!body) return fail(body.error());
    Outgoing out{.body = {}, .text = std::move(text), .input = {}};
    if (responses) {
      body = services::with_history(std::move(*body), store);
      if (!body) return fail(body.error());
      if (const Json* input = services::field(*body, "input")) out.input = *input;
      out.text = services::dump(*body);
    }
    out.body = std::move(*body);
    return out;
  }
};

/// Whether the worker takes connections: a request that it never took is another worker's to
/// answer.
bool listens(Context& context, const Served& served) {
  asio::local::stream_protocol::socket socket(context.io);
  boost::system::error_code error;
  socket.connect(served.worker->socket().string(), error);
  return !error;
}

std::string message_of(const HttpRequest& request, const std::string& body) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", request.method, request.path);
  for (const auto& [name, value] : request.headers) {
    if (!stays_behind(name)) text += fmt::format("{}: {}\r\n", name, value);
  }
  text += fmt::format("Content-Length: {}\r\nConnection: close\r\n\r\n", body.size());
  return text + body;
}

HttpReply failure_reply(Connection& connection, const Error& error) {
  return in_envelope_of(connection.request().path, error_at(connection.request().path, error));
}

/// The headers of a worker's answer that go on; its ids take the place of ours.
Headers take_headers(Connection& connection, const Exchange::Head& head) {
  Headers out;
  auto& common = connection.common_headers();
  for (const auto& [name, value] : head.headers) {
    const auto ours = std::ranges::find_if(common, [&](const auto& header) {
      return header.first.size() == name.size() &&
             std::ranges::equal(header.first, name,
                                [](unsigned char a, char b) { return std::tolower(a) == b; });
    });
    if (ours != common.end()) {
      ours->second = value;
    } else if (!stays_behind(name) && name != "content-type") {
      out.emplace_back(name, value);
    }
  }
  return out;
}

/// One request on its way through.
class Passage {
 public:
  Passage(Context& context, Connection& connection, const Route& route, const Outgoing& outgoing,
          const Served& served)
      : context_(context), connection_(connection), route_(route), input_(outgoing.input),
        relay_(*route.protocol),
        exchange_(Exchange::start(
            context.io, served.worker->socket(), message_of(connection.request(), outgoing.text),
            [wakeup = connection.wakeup().shared_from_this()] { wakeup->notify(); })) {}
  ~Passage() { exchange_->close(); }
  Passage(const Passage&) = delete;

  asio::awaitable<void> run() {
    connection_.watch();
    while (!connection_.gone()) {
      const bool cut = context_.cutting && !exchange_->complete();
      if (cut) ++context_.cut;
      const bool failed = cut || exchange_->broken();
      const auto& head = exchange_->head();
      if (head && !head->streams) whole_ += exchange_->take();
      if (failed && !opened_) {
        HttpReply reply = failure_reply(connection_, cut ? stopped : lost);
        co_await connection_.reply(std::move(reply));
        co_return;
      }
      if (head && head->streams) {
        std::optional<Error> why;
        if (failed) why = cut ? stopped : lost;
        co_await pass_on(why);
        if (failed || exchange_->complete()) co_return;
      } else if (exchange_->complete()) {
        co_await reply_whole();
        co_return;
      }
      co_await connection_.wakeup().wait_for(context_.options.limits.ping_interval);
    }
  }

 private:
  asio::awaitable<void> pass_on(const std::optional<Error>& failed) {
    if (!opened_) {
      opened_ = true;
      Headers headers = take_headers(connection_, *exchange_->head());
      co_await connection_.open_stream(exchange_->head()->status, exchange_->head()->content_type,
                                       std::move(headers));
    }
    std::string out = relay_.take(exchange_->take());
    if (failed) out += relay_.failure(*failed);
    if (!relay_.finished().is_null()) store(relay_.finished());
    co_await connection_.write(out);
    if (failed || exchange_->complete()) co_await connection_.end_stream();
  }

  asio::awaitable<void> reply_whole() {
    const auto& head = *exchange_->head();
    HttpReply reply{.status = head.status,
                    .content_type = head.content_type,
                    .body = std::move(whole_),
                    .headers = take_headers(connection_, head)};
    if (is_responses(route_) && head.status == 200) {
      if (const auto response = parse_json(reply.body)) store(*response);
    }
    co_await connection_.reply(std::move(reply));
  }

  void store(const Json& response) {
    if (stored_ || !response.is_object() || response.value("store", false) != true) return;
    stored_ = true;
    context_.responses.put({.response = response, .input = services::listed_items(input_)});
  }

  Context& context_;
  Connection& connection_;
  const Route& route_;
  const Json& input_;
  FrameRelay relay_;
  const std::shared_ptr<Exchange> exchange_;
  std::string whole_;  // a body of known length
  bool opened_ = false, stored_ = false;
};

}  // namespace

bool stays_behind(std::string_view header) {
  constexpr std::string_view ones[] = {"connection",
                                       "keep-alive",
                                       "proxy-authenticate",
                                       "proxy-authorization",
                                       "te",
                                       "trailer",
                                       "transfer-encoding",
                                       "upgrade",
                                       "expect",
                                       "host",
                                       "origin",
                                       "content-length",
                                       "x-api-key",
                                       "authorization",
                                       "proxy-connection",
                                       "cookie"};
  return std::ranges::find(ones, header) != std::end(ones);
}

asio::awaitable<void> forward(Context& context, Connection& connection, const Route& route) {
  Reading reading{std::move(connection.request().body), is_responses(route), context.responses};
  auto outgoing = co_await context.prepare(std::move(reading));
  if (!outgoing) {
    HttpReply reply = protocol_error(connection, *route.protocol, outgoing.error());
    co_await connection.reply(std::move(reply));
    co_return;
  }
  asio::steady_timer pause(context.io);
  for (;;) {
    const auto lease = co_await context.lease(connection, outgoing->body);
    if (connection.gone()) co_return;
    if (!lease) {
      HttpReply reply = protocol_error(connection, *route.protocol, lease.error());
      co_await connection.reply(std::move(reply));
      co_return;
    }
    if (listens(context, **lease)) {
      Passage passage(context, connection, route, *outgoing, **lease);
      co_await passage.run();
      co_return;
    }
    boost::system::error_code ignored;  // it has just died: the pool will know at any moment
    pause.expires_after(a_moment);
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

asio::awaitable<Result<std::string>> ask_worker(Context& context, Connection& connection,
                                                const Served& served, std::string request) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto exchange =
        Exchange::start(context.io, served.worker->socket(), request,
                        [wakeup = connection.wakeup().shared_from_this()] { wakeup->notify(); });
    std::string body;
    while (!exchange->complete() && !exchange->broken() && !context.stopping) {
      co_await connection.wakeup().wait_for(context.options.limits.ping_interval);
      body += exchange->take();
    }
    const bool complete = exchange->complete();
    exchange->close();
    if (complete) co_return body;
  }
  co_return fail(lost);
}

}  // namespace hearth::server
