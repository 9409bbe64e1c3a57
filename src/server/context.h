// What handlers share: the model (once there is one), the options, the counters, the workers.
// Of the I/O thread, except where it says otherwise.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "server/connection.h"
#include "server/metrics.h"
#include "server/server.h"
#include "services/chat/response_store.h"
#include "services/model.h"

namespace hearth::server {

struct Context {
  explicit Context(ServerOptions server_options);

  const ServerOptions options;
  asio::io_context io{1};
  asio::thread_pool workers;
  Metrics metrics;
  std::shared_ptr<services::LoadedModel> model;  // null until it is loaded
  std::optional<Error> failure;                  // why it never will be
  std::string model_name;                        // served_name, or the model's id
  std::string fingerprint;
  const std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
  std::set<Connection*> connections;
  BodyBudget bodies;  // of all connections
  services::ResponseStore responses;
  int preparing = 0;  // requests on the workers
  bool stopping = false;
  bool cutting = false;  // the time to finish is over
  int cut = 0;           // streams that were not let finish

  void wake_all();

  /// Waits until there is a model. Errors: that of the load; internal when the server stops;
  /// cancelled when the client leaves.
  asio::awaitable<Result<std::shared_ptr<services::LoadedModel>>> wait_for_model(
      Connection& connection);

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
  /// "off" where one row runs at a time, else "batch".
  std::string_view batch_mode() const;

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
