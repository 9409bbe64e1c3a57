// Models of this process: one thread loads and unloads them, one after the other.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <thread>
#include <vector>

#include "base/inbox.h"
#include "server/host.h"

namespace hearth::server {

class LocalHost : public Host {
 public:
  using Load = std::function<Result<std::shared_ptr<services::LoadedModel>>(
      const services::CatalogModel& entry)>;

  /// @param models  outlives this
  /// @param load    runs on the host's thread
  LocalHost(boost::asio::io_context& io, const std::vector<services::CatalogModel>& models,
            Load load);
  ~LocalHost() override;  // waits for a load that is under way

  void load(std::size_t model, Loaded done) override;
  void unload(ServedPtr served, Unloaded done) override;
  void share(const ServedPtr& served, const engine::Share& share) override;
  bool close(std::vector<ServedPtr> served) override;

 private:
  using Job = std::function<void()>;
  void enqueue(Job job);
  Result<ServedPtr> load_now(const services::CatalogModel& entry);
  void run(const std::stop_token& stop);

  boost::asio::io_context& io_;
  const std::vector<services::CatalogModel>& models_;
  const Load load_;
  std::atomic<bool> loading_ = false;
  Inbox<Job> jobs_{1024};
  std::jthread thread_;  // last: joined before what it uses
};

}  // namespace hearth::server
