#include "server/server.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <future>
#include <thread>
#include <utility>

#include "base/log.h"
#include "server/binding.h"
#include "server/context.h"
#include "server/local_host.h"
#include "server/routes.h"

namespace hearth::server {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds time_to_part{1000};  // for error frames, when streams are cut
constexpr std::chrono::milliseconds accept_pause{100};   // when the system has no descriptor left

}  // namespace

struct Server::Impl {
  explicit Impl(ServerOptions options) : context(std::move(options)) {}

  Context context;
  tcp::acceptor acceptor{context.io};
  UnixAcceptor unix_acceptor{context.io};                               // a worker's
  std::shared_ptr<Wakeup> room = std::make_shared<Wakeup>(context.io);  // a connection has closed
  asio::signal_set signals{context.io};
  asio::steady_timer limit{context.io};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{
      context.io.get_executor()};
  std::promise<void> ended;
  std::shared_future<void> end = ended.get_future().share();
  int port = 0;
  std::jthread thread;  // last: joined before what it uses

  Result<void> bind();
  void start();
  void make_room();
  template <class Acceptor>
  asio::awaitable<void> accept_loop(Acceptor& from);
  asio::awaitable<void> serve(std::shared_ptr<Connection> connection);
  asio::awaitable<void> handle(Connection& connection);
  std::unique_ptr<Host> make_host(ModelSetup& setup,
                                  const std::vector<services::CatalogModel>& models);
  void begin_stop();
  void cut_streams();
  void end_if_done();
};

Result<void> Server::Impl::bind() {
  const auto& options = context.options;
  if (!options.unix_socket.empty()) return bind_unix(unix_acceptor, options.unix_socket);
  if (auto bound = bind_tcp(acceptor, options.host, options.port); !bound) return bound;
  port = acceptor.local_endpoint().port();
  return {};
}

void Server::Impl::start() {
  context.begin_stop = [this] { begin_stop(); };
  if (acceptor.is_open()) asio::co_spawn(context.io, accept_loop(acceptor), asio::detached);
  if (unix_acceptor.is_open()) {
    asio::co_spawn(context.io, accept_loop(unix_acceptor), asio::detached);
  }
  thread = std::jthread([this] {
    context.io.run();
    ended.set_value();
  });
}

template <class Acceptor>
asio::awaitable<void> Server::Impl::accept_loop(Acceptor& from) {
  while (from.is_open()) {
    error_code error;
    co_await from.async_wait(Acceptor::wait_read, asio::redirect_error(asio::use_awaitable, error));
    if (!from.is_open()) break;
    if (int(context.connections.size()) >= context.options.limits.connections) {
      make_room();
      co_await room->wait_for(std::chrono::seconds(1));
      continue;
    }
    typename Acceptor::protocol_type::socket socket(context.io);
    co_await from.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      auto connection = std::make_shared<Connection>(context.io, std::move(socket),
                                                     context.options.limits, context.bodies);
      context.connections.insert(connection.get());
      asio::co_spawn(context.io, serve(std::move(connection)), asio::detached);
    } else if (from.is_open() && error != asio::error::operation_aborted) {
      log::warn("accept: {}", error.message());
      make_room();
      co_await room->wait_for(accept_pause);
    }
  }
}

/// Closes the connection that has been idle longest, so that one who asks gets in.
void Server::Impl::make_room() {
  Connection* longest = nullptr;
  for (Connection* connection : context.connections) {
    const auto since = connection->idle_since();
    if (since && (!longest || *since < *longest->idle_since())) longest = connection;
  }
  if (longest) longest->close_when_idle();
}

asio::awaitable<void> Server::Impl::serve(std::shared_ptr<Connection> connection) {
  try {
    Connection::Gate gate = [this](HttpRequest head) { return refusal(context, std::move(head)); };
    Connection::Handler handler = [this](Connection& c) { return handle(c); };
    Connection::Refused refused = [this](const Connection& c) { note_refused(context, c); };
    co_await connection->run(std::move(gate), std::move(handler), std::move(refused));
  } catch (const std::exception& e) {
    log::error("connection: {}", e.what());
  }
  context.connections.erase(connection.get());
  room->notify();
  end_if_done();
}

/// One request. What a handler throws becomes a 500, or the end of the connection.
asio::awaitable<void> Server::Impl::handle(Connection& connection) {
  std::string failure;
  try {
    co_await dispatch(context, connection);
    co_return;
  } catch (const std::exception& e) {
    failure = e.what();
  }
  log::error("{} {}: {}", connection.request().method, connection.request().path, failure);
  if (connection.replied()) {
    connection.abort();
  } else {
    HttpReply reply = error_reply({ErrorCode::internal, failure, ""});
    co_await connection.reply(std::move(reply));
  }
}

void Server::Impl::begin_stop() {
  if (context.stopping) return;
  context.stopping = true;
  context.pool.stop();
  error_code ignored;
  acceptor.close(ignored);
  unix_acceptor.close(ignored);
  room->notify();
  for (Connection* connection : context.connections) connection->close_when_idle();
  context.wake_all();
  limit.expires_after(context.options.shutdown_limit);
  limit.async_wait([this](const error_code& error) {
    if (!error) cut_streams();
  });
  end_if_done();
}

/// Streams send their error frame; a moment later whatever is left is closed.
void Server::Impl::cut_streams() {
  context.cutting = true;
  context.wake_all();
  limit.expires_after(time_to_part);
  limit.async_wait([this](const error_code& error) {
    if (error) return;
    for (Connection* connection : context.connections) connection->abort();
  });
}

void Server::Impl::end_if_done() {
  if (!context.stopping || !context.connections.empty()) return;
  error_code ignored;
  limit.cancel();
  signals.cancel(ignored);
  signals.clear(ignored);
  work.reset();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  asio::post(impl_->context.io, [impl = impl_.get()] {
    impl->begin_stop();
    impl->cut_streams();
    impl->end_if_done();
  });
  impl_->end.wait();
  impl_->context.workers.join();
}

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto bound = impl->bind(); !bound) return hearth::fail(bound.error());
  impl->start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

int Server::port() const { return impl_->port; }

std::string Server::url() const {
  const std::string& host = impl_->context.options.host;
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) return fmt::format("http://{}:{}", host, port());
  if (address.is_unspecified()) return fmt::format("http://localhost:{}", port());
  if (address.is_v6()) return fmt::format("http://[{}]:{}", host, port());
  return fmt::format("http://{}:{}", host, port());
}

void Server::set_model(std::shared_ptr<services::LoadedModel> model) {
  const auto& options = impl_->context.options;
  ModelSetup setup;
  setup.models = {services::catalog_model(*model, options.served_name, options.defaults)};
  setup.load = [held = std::make_shared<std::shared_ptr<services::LoadedModel>>(std::move(model))](
                   const services::CatalogModel&) { return std::exchange(*held, nullptr); };
  serve_models(std::move(setup));
}

std::unique_ptr<Host> Server::Impl::make_host(ModelSetup& setup,
                                              const std::vector<services::CatalogModel>& models) {
  if (!setup.workers) {
    return std::make_unique<LocalHost>(context.io, models, std::move(setup.load));
  }
  auto host = std::make_unique<WorkerHost>(
      context.io, models, std::move(*setup.workers),
      WorkerHost::Events{
          .lost = [this](std::size_t model, bool again) { context.pool.lost(model, again); },
          .came_back =
              [this](std::size_t model, Result<ServedPtr> served) {
                context.pool.came_back(model, std::move(served));
              }});
  context.workers_host = host.get();
  return host;
}

void Server::serve_models(ModelSetup given) {
  asio::post(impl_->context.io, [impl = impl_.get(), setup = std::move(given)]() mutable {
    Context& context = impl->context;
    const auto make_host = [&](const std::vector<services::CatalogModel>& models) {
      return impl->make_host(setup, models);
    };
    context.pool.open(std::move(setup.models), setup.limits, make_host);
    context.pool.preload(0, [impl, ready = std::move(setup.ready)](const Result<void>& loaded) {
      if (loaded) {
        if (ready) ready();
        return;
      }
      impl->context.failure = loaded.error();
      impl->begin_stop();
    });
    context.wake_all();
  });
}

void Server::refresh_models(std::vector<services::CatalogModel> models) {
  asio::post(impl_->context.io, [impl = impl_.get(), models = std::move(models)]() mutable {
    if (impl->context.pool.is_open()) impl->context.pool.refresh(std::move(models));
  });
}

bool Server::release_models() { return impl_->context.pool.close(); }

void Server::fail(Error error) {
  asio::post(impl_->context.io, [impl = impl_.get(), error = std::move(error)] {
    impl->context.failure = error;
    impl->begin_stop();
  });
}

void Server::stop_on_signals() {
  asio::post(impl_->context.io, [impl = impl_.get()] {
    error_code ignored;
    impl->signals.add(SIGINT, ignored);
    impl->signals.add(SIGTERM, ignored);
    impl->signals.async_wait([impl](const error_code& error, int) {
      if (error) return;
      error_code unused;
      impl->signals.clear(unused);  // the next one ends the process, as it does by default
      impl->begin_stop();
    });
  });
}

void Server::stop() {
  asio::post(impl_->context.io, [impl = impl_.get()] { impl->begin_stop(); });
}

Result<void> Server::wait() {
  impl_->end.wait();
  if (impl_->context.failure) return hearth::fail(*impl_->context.failure);
  if (const int cut = impl_->context.cut; cut > 0) {
    return hearth::fail(ErrorCode::cancelled,
                        fmt::format("{} answers were cut: they were not complete within {} ms", cut,
                                    impl_->context.options.shutdown_limit.count()));
  }
  return {};
}

}  // namespace hearth::server
