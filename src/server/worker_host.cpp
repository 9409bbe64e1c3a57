#include "server/worker_host.h"

#include <fmt/format.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/folders.h"
#include "base/log.h"

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;
using boost::system::error_code;

constexpr std::chrono::milliseconds between_knocks{20};
constexpr std::chrono::milliseconds look_again{500};

/// The error of a worker whose model could not be loaded; empty when it says nothing of the kind.
std::string fault_in(const std::string& body) {
  const auto json = parse_json(body);
  if (!json || !json->is_object() || !json->contains("error")) return {};
  const Json& error = (*json)["error"];
  return error.is_object() ? error.value("message", "") : std::string();
}

}  // namespace

WorkerHost::WorkerHost(asio::io_context& io, const std::vector<services::CatalogModel>& models,
                       WorkerSettings settings, Events events)
    : io_(io), models_(models), settings_(std::move(settings)), events_(std::move(events)),
      slots_(models.size()) {}

WorkerHost::~WorkerHost() {
  slots_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(settings_.folder, ignored);
}

void WorkerHost::load(std::size_t model, Loaded done) {
  slots_[model].loaded = std::move(done);
  start(model);
}

void WorkerHost::start(std::size_t model) {
  Slot& slot = slots_[model];
  slot.ready = false;
  slot.fault.clear();
  auto failed = [this, model](Error error) {
    asio::post(io_, [this, model, error = std::move(error)] { settle(model, fail(error)); });
  };
  if (auto made = make_private_folder(settings_.folder); !made) return failed(made.error());
  auto socket = settings_.folder / fmt::format("{}.sock", sockets_++);
  auto arguments = settings_.arguments(models_[model]);
  arguments.push_back("--unix=" + socket.string());
  auto worker = Worker::start(io_, arguments, std::move(socket),
                              [this, model](const std::string& how) { ended(model, how); });
  if (!worker) return failed(worker.error());
  slot.worker = *worker;
  log::info("{} is loaded by worker {}", models_[model].id, slot.worker->pid());
  asio::co_spawn(io_, await_ready(model, slot.worker), asio::detached);
}

/// Knocks until the worker has its model; its end is told by ended().
asio::awaitable<void> WorkerHost::await_ready(std::size_t model, std::shared_ptr<Worker> worker) {
  const auto until = Clock::now() + settings_.ready_limit;
  asio::steady_timer timer(io_);
  while (slots_[model].worker == worker && !stopping_) {
    const bool settled = co_await ask_row(model, worker, until);
    if (settled) co_return;
    if (Clock::now() >= until) {
      slots_[model].fault =
          fmt::format("it was not ready within {} s", settings_.ready_limit.count() / 1000);
      worker->signal(SIGKILL);
      co_return;
    }
    error_code ignored;
    timer.expires_after(between_knocks);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

/// Asks for the row of /v1/models, which a worker answers when it has loaded or failed.
/// @return whether there was an answer
asio::awaitable<bool> WorkerHost::ask_row(std::size_t model, const std::shared_ptr<Worker>& worker,
                                          Clock::time_point until) {
  const auto changed = std::make_shared<Wakeup>(io_);
  const auto exchange = Exchange::start(io_, worker->socket(), get_request("/v1/models"),
                                        [changed] { changed->notify(); });
  while (!exchange->complete() && !exchange->broken()) {
    const bool wanted = slots_[model].worker == worker && !stopping_;
    if (!wanted || Clock::now() >= until) break;
    co_await changed->wait_for(look_again);
  }
  const bool answered = exchange->complete() && slots_[model].worker == worker;
  const std::string body = exchange->take();
  const int status = exchange->head() ? exchange->head()->status : 0;
  exchange->close();
  if (!answered) co_return false;
  const auto list = parse_json(body);
  if (status == 200 && list && list->contains("data")) {
    become_ready(model, worker, (*list)["data"][0]);
  } else {
    slots_[model].fault = fault_in(body);
  }
  co_return true;
}

void WorkerHost::become_ready(std::size_t model, const std::shared_ptr<Worker>& worker,
                              const Json& row) {
  const auto& entry = models_[model];
  auto served = std::make_shared<Served>();
  served->name = entry.id;
  served->worker = worker;
  served->defaults = entry.defaults;
  served->row = row;
  served->bytes = entry.info.weight_bytes;
  slots_[model].ready = true;
  settle(model, ServedPtr(std::move(served)));
}

/// Tells whoever waits for the model, be it a load or a restart.
void WorkerHost::settle(std::size_t model, Result<ServedPtr> outcome) {
  if (stopping_) return;
  if (auto loaded = std::exchange(slots_[model].loaded, nullptr)) {
    loaded(std::move(outcome));
  } else {
    events_.came_back(model, std::move(outcome));
  }
}

void WorkerHost::ended(std::size_t model, const std::string& how) {
  Slot& slot = slots_[model];
  const auto worker = std::exchange(slot.worker, nullptr);
  if (stopping_ || !worker) return;
  if (auto unloaded = std::exchange(slot.unloaded, nullptr)) return unloaded();
  const auto& id = models_[model].id;
  log::warn("the worker {} of {} ended: {}", worker->pid(), id, how);
  const bool was_ready = std::exchange(slot.ready, false);
  if (slot.loaded) {
    return settle(model,
                  fail(ErrorCode::engine_lost,
                       slot.fault.empty()
                           ? fmt::format("the worker of {} ended before it was ready ({})", id, how)
                           : slot.fault));
  }
  const auto delay = slot.policy.died(worker->started(), Clock::now());
  if (was_ready) events_.lost(model, delay.has_value());
  if (!delay) {
    log::error("the worker of {} has died too often; it stays down until it is asked for", id);
    if (!was_ready) {
      settle(model, fail(ErrorCode::engine_lost,
                         fmt::format("the worker of {} has died too often ({})", id, how)));
    }
    return;
  }
  ++slot.restarts;
  slot.pause = std::make_shared<asio::steady_timer>(io_, *delay);
  slot.pause->async_wait([this, model](const error_code& error) {
    if (!error && !stopping_) start(model);
  });
}

std::size_t WorkerHost::slot_of(const Worker& worker) const {
  std::size_t i = 0;
  while (i < slots_.size() && slots_[i].worker.get() != &worker) ++i;
  return i;
}

void WorkerHost::unload(ServedPtr served, Unloaded done) {
  const auto worker = served->worker;
  const auto model = slot_of(*worker);
  if (model == slots_.size()) {  // it died at this very moment
    asio::post(io_, std::move(done));
    return;
  }
  slots_[model].unloaded = std::move(done);
  asio::co_spawn(io_, drain(worker), asio::detached);
}

/// Asks the worker to end, and makes it end when it does not.
asio::awaitable<void> WorkerHost::drain(std::shared_ptr<Worker> worker) {
  const auto changed = std::make_shared<Wakeup>(io_);
  const std::string request =
      "POST /admin/drain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n";
  const auto exchange =
      Exchange::start(io_, worker->socket(), request, [changed] { changed->notify(); });
  const auto until = Clock::now() + settings_.drain_limit;
  while (slot_of(*worker) < slots_.size() && !stopping_ && Clock::now() < until) {
    co_await changed->wait_for(look_again);
  }
  exchange->close();
  if (!stopping_) worker->signal(SIGKILL);  // it has ended, unless the time is over
}

void WorkerHost::share(const ServedPtr& served, const engine::Share& share) {
  const Json body{{"engines", share.engines}, {"others", share.others}};
  asio::co_spawn(io_, tell(served->worker, post_request("/admin/share", body.dump())),
                 asio::detached);
}

/// Sends a worker what needs no answer.
asio::awaitable<void> WorkerHost::tell(std::shared_ptr<Worker> worker, std::string request) {
  const auto changed = std::make_shared<Wakeup>(io_);
  const auto exchange =
      Exchange::start(io_, worker->socket(), request, [changed] { changed->notify(); });
  while (!exchange->complete() && !exchange->broken() && !stopping_) {
    co_await changed->wait_for(look_again);
  }
  exchange->close();
}

void WorkerHost::stop() {
  stopping_ = true;
  for (Slot& slot : slots_) {
    if (slot.pause) slot.pause->cancel();
    if (slot.worker && !slot.ready) slot.worker->signal(SIGKILL);
  }
}

bool WorkerHost::close(std::vector<ServedPtr> served) {
  std::vector<std::shared_ptr<Worker>> workers;
  for (Slot& slot : slots_) {
    if (slot.worker) workers.push_back(std::exchange(slot.worker, nullptr));
  }
  for (const auto& worker : workers) worker->signal(SIGTERM);
  const auto until = Clock::now() + settings_.drain_limit;
  for (const auto& worker : workers) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (!worker->wait(std::max(left, std::chrono::milliseconds(0)))) worker->signal(SIGKILL);
  }
  served.clear();
  return true;
}

}  // namespace hearth::server
