#include "server/local_host.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"

namespace hearth::server {
namespace {

/// The last holder lets go of the model: whoever still has it, a worker that is just done, does so
/// at any moment.
void let_go(ServedPtr served) {
  auto model = served->model;
  served.reset();
  services::unload_model(std::move(model));
}

}  // namespace

LocalHost::LocalHost(boost::asio::io_context& io, const std::vector<services::CatalogModel>& models,
                     Load load)
    : io_(io), models_(models), load_(std::move(load)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

LocalHost::~LocalHost() = default;

void LocalHost::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    for (auto& job : jobs_.wait(stop)) job();
  }
}

void LocalHost::enqueue(Job job) {
  if (!jobs_.push(job)) log::error("the pool has too much to do");  // a bound that is never met
}

Result<ServedPtr> LocalHost::load_now(const services::CatalogModel& entry) {
  try {
    auto loaded = load_(entry);
    if (!loaded) return hearth::fail(loaded.error());
    return serve_here(std::move(*loaded), entry);
  } catch (const std::exception& e) {
    return hearth::fail(ErrorCode::internal, e.what());
  }
}

void LocalHost::load(std::size_t model, Loaded done) {
  loading_ = true;
  enqueue([this, entry = models_[model], done = std::move(done)]() mutable {
    auto served = load_now(entry);
    loading_ = false;
    boost::asio::post(io_, [done = std::move(done), served = std::move(served)]() mutable {
      done(std::move(served));
    });
  });
}

void LocalHost::unload(ServedPtr served, Unloaded done) {
  enqueue([this, served = std::move(served), done = std::move(done)]() mutable {
    let_go(std::move(served));
    boost::asio::post(io_, std::move(done));
  });
}

void LocalHost::share(const ServedPtr& served, const engine::Share& share) {
  if (!served->model || !served->model->engine) return;
  enqueue([model = std::weak_ptr(served->model), share] {
    if (const auto held = model.lock()) held->engine->share(share);
  });
}

bool LocalHost::close(std::vector<ServedPtr> served) {
  for (auto& one : served) let_go(std::move(one));
  return !loading_;
}

}  // namespace hearth::server
