// What handlers share: the models (once there are any), the options, the counters, the workers.
// Of the I/O thread, except where it says otherwise.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "server/connection.h"
#include "server/metrics.h"
#include "server/model_pool.h"
#include "server/server.h"
#include "server/worker_host.h"
#include "services/chat/response_store.h"
#include "services/model.h"

namespace hearth::server {

struct Context {
  explicit Context(ServerOptions server_options);

  const ServerOptions options;
  asio::io_context io{1};
  asio::thread_pool workers;
  Metrics metrics;
  std::optional<Error> failure;  // why the first model never will be loaded
  const std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
  std::set<Connection*> connections;
  BodyBudget bodies;  // of all connections
  services::ResponseStore responses;
  int preparing = 0;  // requests on the workers
  bool stopping = false;
  bool cutting = false;                // the time to finish is over
  int cut = 0;                         // streams that were not let finish
  WorkerHost* workers_host = nullptr;  // of an isolated server; the pool owns it
  ModelPool pool{io};
  std::function<void()> begin_stop;  // the server's

  void wake_all();

  /// Whether models live in workers.
  bool isolated() const { return workers_host != nullptr; }

  /// Waits until it is known which models there are. Errors: that of the first one's load; internal
  /// when the server stops; cancelled when the client leaves.
  asio::awaitable<Result<void>> wait_for_models(Connection& connection);

  /// Waits for the model that a body's `model` names. Errors: as wait_for_models() and
  /// ModelPool::lease(); not_found, param "model".
  asio::awaitable<Result<Lease>> lease(Connection& connection, const Json& body);

  /// Waits for the model that requests mean which name none.
  asio::awaitable<Result<Lease>> lease(Connection& connection);

  /// Waits until the first model was loaded once: what is listed of it is complete then. Errors: as
  /// lease().
  asio::awaitable<Result<void>> wait_for_rows(Connection& connection);

  /// The first model while it is resident; null otherwise.
  ServedPtr first_model() const { return pool.resident(0); }
  std::int64_t started_seconds() const { return std::chrono::system_clock::to_time_t(started); }

  /// Runs `work` on a worker thread and comes back with what it returned, which must be a Result.
  /// Errors: those of `work`; overloaded when too many wait already.
  template <class Work>
  asio::awaitable<std::invoke_result_t<Work&>> prepare(Work work) {
    using R = std::invoke_result_t<Work&>;
    if (preparing >= options.limits.preparing) {
      co_return fail(ErrorCode::overloaded, "too many requests are waiting; try again");
    }
    const Prepares counted(preparing);
    auto on_worker = [](Work work) -> asio::awaitable<R> { co_return work(); };
    R result = co_await asio::co_spawn(workers, on_worker(std::move(work)), asio::use_awaitable);
    co_return result;
  }

  Gauges gauges();

 private:
  /// Counts one request while it is on the workers.
  class Prepares {
   public:
    explicit Prepares(int& count) : count_(++count) {}
    ~Prepares() { --count_; }
    Prepares(const Prepares&) = delete;

   private:
    int& count_;
  };
};

}  // namespace hearth::server
