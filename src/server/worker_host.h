// Models in worker processes, one each. A worker that dies is started anew, by RestartPolicy.
// Of the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/exchange.h"
#include "server/host.h"
#include "server/server.h"
#include "server/worker.h"
#include "services/pool/restart_policy.h"

namespace hearth::server {

class WorkerHost : public Host {
 public:
  /// What a pool hears of models that die by themselves.
  struct Events {
    std::function<void(std::size_t model, bool again)> lost;
    std::function<void(std::size_t model, Result<ServedPtr>)> came_back;
  };

  /// @param models  outlives this
  WorkerHost(asio::io_context& io, const std::vector<services::CatalogModel>& models,
             WorkerSettings settings, Events events);
  ~WorkerHost() override;

  void load(std::size_t model, Loaded done) override;
  void unload(ServedPtr served, Unloaded done) override;
  void share(const ServedPtr& served, const engine::Share& share) override;
  void grow(std::size_t models) override { slots_.resize(models); }
  void stop() override;
  bool close(std::vector<ServedPtr> served) override;

  /// How often a model's worker was started anew.
  int restarts(std::size_t model) const { return slots_[model].restarts; }

 private:
  struct Slot {
    std::shared_ptr<Worker> worker;
    std::shared_ptr<asio::steady_timer> pause;  // before it is started anew
    services::RestartPolicy policy;
    int restarts = 0;
    bool ready = false;
    Loaded loaded;      // of a load that is under way
    Unloaded unloaded;  // of an unload that is
    std::string fault;  // why the model could not be loaded, in the worker's words
  };

  void start(std::size_t model);
  asio::awaitable<void> await_ready(std::size_t model, std::shared_ptr<Worker> worker);
  asio::awaitable<bool> ask_row(std::size_t model, const std::shared_ptr<Worker>& worker,
                                std::chrono::steady_clock::time_point until);
  asio::awaitable<void> drain(std::shared_ptr<Worker> worker);
  asio::awaitable<void> tell(std::shared_ptr<Worker> worker, std::string request);
  void become_ready(std::size_t model, const std::shared_ptr<Worker>& worker, const Json& row);
  void ended(std::size_t model, const std::string& how);
  void settle(std::size_t model, Result<ServedPtr> outcome);
  std::size_t slot_of(const Worker& worker) const;

  asio::io_context& io_;
  const std::vector<services::CatalogModel>& models_;
  const WorkerSettings settings_;
  const Events events_;
  std::vector<Slot> slots_;
  int sockets_ = 0;  // ever named
  bool stopping_ = false;
};

}  // namespace hearth::server
