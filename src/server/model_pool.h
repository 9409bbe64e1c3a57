// The models of a server as its requests see them: a request leases one for as long as it runs.
// The policy decides which come and go, a host makes it so. Of the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/connection.h"
#include "server/host.h"
#include "services/pool/policy.h"

namespace hearth::server {

class ModelPool;

/// Holds a model, or a place in the queue for it. While it lives the model is not unloaded.
class Lease {
 public:
  Lease() = default;
  Lease(ModelPool& pool, services::PoolPolicy::Ticket ticket) : pool_(&pool), ticket_(ticket) {}
  Lease(Lease&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), ticket_(other.ticket_),
        served_(std::move(other.served_)) {}
  Lease& operator=(Lease&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(ticket_, other.ticket_);
    std::swap(served_, other.served_);
    return *this;
  }
  ~Lease();

  const Served& operator*() const { return *served_; }
  const Served* operator->() const { return served_.get(); }
  const ServedPtr& served() const { return served_; }

 private:
  friend class ModelPool;
  ModelPool* pool_ = nullptr;
  services::PoolPolicy::Ticket ticket_ = 0;
  ServedPtr served_;
};

class ModelPool {
 public:
  explicit ModelPool(asio::io_context& io) : io_(io), timer_(io) {}

  /// What there is to be asked for, and where it will live. Once.
  /// @param models  the first is the one that requests mean which name none
  void open(std::vector<services::CatalogModel> models, services::PoolLimits limits,
            const std::function<std::unique_ptr<Host>(const std::vector<services::CatalogModel>&)>&
                make_host);
  bool is_open() const { return policy_.has_value(); }

  /// What there is to be asked for now, but for the first, which stays. A model that is gone keeps
  /// its place in the list.
  void refresh(std::vector<services::CatalogModel> found);

  /// All that were ever known, those that are gone too.
  const std::vector<services::CatalogModel>& models() const { return models_; }
  /// Of them, those that may be asked for.
  std::vector<std::size_t> listed() const;
  /// Null while it is not resident.
  ServedPtr resident(std::size_t model) const;
  /// Whether it is or was resident: its row is complete.
  bool was_resident(std::size_t model) const { return rows_[model].contains("capabilities"); }
  /// The row of /v1/models: as complete as it ever was known.
  const Json& row(std::size_t model) const { return rows_[model]; }
  const services::PoolPolicy& policy() const { return *policy_; }

  /// Waits for the model. Errors: that of its load; unavailable, when there is no room for it;
  /// internal after stop(); cancelled when the client leaves.
  asio::awaitable<Result<Lease>> lease(Connection& connection, std::size_t model);

  /// Loads a model that nobody has asked for yet.
  void preload(std::size_t model, std::function<void(Result<void>)> done);

  /// Why a model is not brought back after it died; none unless that is so. It is tried again when
  /// it is leased.
  const std::optional<Error>& down(std::size_t model) const { return down_[model]; }

  /// A resident model has died; `again` when its host is bringing it back. Then came_back().
  void lost(std::size_t model, bool again);
  void came_back(std::size_t model, Result<ServedPtr> outcome);

  /// What engines counted whose models were unloaded.
  const engine::EngineStats& retired() const { return retired_; }

  /// No model is loaded any more: those who wait get an error.
  void stop();
  /// After the last request. @return false when a load is under way, which cannot be awaited
  bool close();

 private:
  friend class Lease;
  using Ticket = services::PoolPolicy::Ticket;
  using Decision = services::PoolPolicy::Decision;

  struct Waiting {
    std::function<void(Result<ServedPtr>)> tell;
  };

  void take(services::CatalogModel entry);
  void act();
  void carry_out(const Decision& decision);
  void retire(const Served& served);
  /// Tells every resident model its share of what all divide, where it changed.
  void share_out();
  void finish_load(std::size_t model, Result<ServedPtr> outcome);
  void leave(Ticket ticket);
  void set_timer();

  asio::io_context& io_;
  asio::steady_timer timer_;
  std::vector<services::CatalogModel> models_;
  std::unique_ptr<Host> host_;
  std::optional<services::PoolPolicy> policy_;
  std::vector<ServedPtr> served_;                  // null: not resident
  std::map<const Served*, engine::Share> shares_;  // that were told last; else one has it all
  std::vector<Json> rows_;
  std::vector<std::optional<Error>> down_;
  std::map<Ticket, Waiting> waiting_;
  engine::EngineStats retired_;
  bool stopped_ = false;
  bool acting_ = false;
};

}  // namespace hearth::server
