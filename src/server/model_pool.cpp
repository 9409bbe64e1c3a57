#include "server/model_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"

namespace hearth::server {
namespace {

using services::PoolPolicy;
using Kind = PoolPolicy::Decision::Kind;

constexpr std::chrono::seconds look_again{15};

Error gone_for_good(const std::string& id) {
  return {ErrorCode::engine_lost,
          fmt::format(
              "the process of {} has died too often; a request that names it starts it anew", id),
          ""};
}

const Error stopping{ErrorCode::internal, "the server is stopping", ""};

}  // namespace

Lease::~Lease() {
  if (pool_) pool_->leave(ticket_);
}

void ModelPool::open(
    std::vector<services::CatalogModel> models, services::PoolLimits limits,
    const std::function<std::unique_ptr<Host>(const std::vector<services::CatalogModel>&)>&
        make_host) {
  models_ = std::move(models);
  served_.resize(models_.size());
  down_.resize(models_.size());
  for (const auto& model : models_) rows_.push_back(absent_row(model));
  policy_.emplace(limits, services::pool_models(models_));
  host_ = make_host(models_);
}

void ModelPool::refresh(std::vector<services::CatalogModel> found) {
  for (std::size_t i = 1; i < models_.size(); ++i) {
    auto& known = models_[i];
    known.gone = std::ranges::find(found, known.id, &services::CatalogModel::id) == found.end();
    if (known.gone) policy_->retire(i);
  }
  for (auto& entry : found) take(std::move(entry));
  host_->grow(models_.size());
  act();
}

/// A model that is new or may have changed.
void ModelPool::take(services::CatalogModel entry) {
  const auto at = std::ranges::find(models_, entry.id, &services::CatalogModel::id);
  const auto i = std::size_t(at - models_.begin());
  if (i == 0) return;
  auto known = services::pool_models({&entry, 1}).front();
  if (at == models_.end()) {
    served_.emplace_back();
    down_.emplace_back();
    rows_.push_back(absent_row(entry));
    models_.push_back(std::move(entry));
    policy_->add(std::move(known));
    return;
  }
  policy_->change(i, std::move(known));
  if (policy_->state(i) != PoolPolicy::State::absent) return;
  if (at->path != entry.path) rows_[i] = absent_row(entry);
  *at = std::move(entry);
}

std::vector<std::size_t> ModelPool::listed() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (!models_[i].gone) out.push_back(i);
  }
  return out;
}

ServedPtr ModelPool::resident(std::size_t model) const {
  return model < served_.size() ? served_[model] : nullptr;
}

asio::awaitable<Result<Lease>> ModelPool::lease(Connection& connection, std::size_t model) {
  std::optional<Result<ServedPtr>> outcome;
  Lease lease(*this, policy_->ask(model));
  waiting_[lease.ticket_] = {
      [&outcome, wakeup = connection.wakeup().shared_from_this()](Result<ServedPtr> result) {
        outcome = std::move(result);
        wakeup->notify();
      }};
  act();
  if (!outcome) connection.watch();
  while (!outcome) {
    if (stopped_) co_return hearth::fail(stopping);
    if (connection.gone()) co_return hearth::fail(ErrorCode::cancelled, "request cancelled");
    co_await connection.wakeup().wait_for(look_again);
  }
  if (!*outcome) co_return hearth::fail(outcome->error());
  lease.served_ = std::move(**outcome);
  co_return std::move(lease);
}

void ModelPool::preload(std::size_t model, std::function<void(Result<void>)> done) {
  const Ticket ticket = policy_->ask(model);
  waiting_[ticket] = {[this, ticket, done = std::move(done)](Result<ServedPtr> result) {
    done(result ? Result<void>() : hearth::fail(result.error()));
    asio::post(io_, [this, ticket] { leave(ticket); });
  }};
  act();
}

void ModelPool::leave(Ticket ticket) {
  waiting_.erase(ticket);
  policy_->leave(ticket, PoolPolicy::Clock::now());
  act();
}

/// Does what the policy decides, until it has nothing more to say.
void ModelPool::act() {
  if (acting_ || stopped_) return;
  acting_ = true;
  for (auto decisions = policy_->decide(PoolPolicy::Clock::now()); !decisions.empty();
       decisions = policy_->decide(PoolPolicy::Clock::now())) {
    for (const auto& decision : decisions) carry_out(decision);
  }
  acting_ = false;
  set_timer();
}

void ModelPool::carry_out(const Decision& decision) {
  const auto model = decision.model;
  if (decision.kind == Kind::load) {
    log::info("loading {}", models_[model].id);
    host_->load(model, [this, model](Result<ServedPtr> outcome) {
      finish_load(model, std::move(outcome));
    });
    return;
  }
  if (decision.kind == Kind::unload) {
    log::info("unloading {}", models_[model].id);
    retire(*served_[model]);
    host_->unload(std::exchange(served_[model], nullptr), [this, model] {
      policy_->unloaded(model);
      share_out();
      act();
    });
    return;
  }
  const auto found = waiting_.find(decision.ticket);
  if (found == waiting_.end()) return;
  const Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  if (decision.kind == Kind::grant) {
    waiting.tell(served_[model]);
  } else {
    waiting.tell(hearth::fail(decision.error));
  }
}

void ModelPool::finish_load(std::size_t model, Result<ServedPtr> outcome) {
  if (outcome) {
    down_[model].reset();
    served_[model] = *outcome;
    rows_[model] = served_[model]->row;
    policy_->loaded(model, served_[model]->bytes, PoolPolicy::Clock::now());
    share_out();
  } else {
    log::warn("{} was not loaded: {}", models_[model].id, outcome.error().message);
    policy_->failed(model, outcome.error());
  }
  act();
}

void ModelPool::lost(std::size_t model, bool again) {
  served_[model].reset();
  if (!again) down_[model] = gone_for_good(models_[model].id);
  policy_->lost(model, again);
  share_out();
  act();
}

void ModelPool::came_back(std::size_t model, Result<ServedPtr> outcome) {
  if (!outcome) down_[model] = gone_for_good(models_[model].id);
  finish_load(model, std::move(outcome));
}

/// Counters of an engine that goes stay in the sums.
void ModelPool::retire(const Served& served) {
  if (!served.model || !served.model->stats) return;
  const auto stats = served.model->stats();
  retired_.submitted += stats.submitted;
  retired_.finished += stats.finished;
  retired_.cancelled += stats.cancelled;
  retired_.prompt_tokens += stats.prompt_tokens;
  retired_.completion_tokens += stats.completion_tokens;
  retired_.steps += stats.steps;
  retired_.prompt_cache.retire(stats.prompt_cache);
  retired_.ssd_cache.retire(stats.ssd_cache);
  retired_.checkpoints.retire(stats.checkpoints);
}

void ModelPool::share_out() {
  std::size_t weights = 0;
  int engines = 0;
  for (const auto& served : served_) {
    weights += served ? served->bytes : 0;
    engines += served != nullptr;
  }
  std::map<const Served*, engine::Share> shares;
  for (const auto& served : served_) {
    if (!served) continue;
    const engine::Share share{.engines = engines, .others = weights - served->bytes};
    const auto told = shares_.find(served.get());
    if ((told == shares_.end() ? engine::Share() : told->second) != share) {
      host_->share(served, share);
    }
    shares[served.get()] = share;
  }
  shares_ = std::move(shares);
}

/// Wakes when a model has been idle for long enough.
void ModelPool::set_timer() {
  const auto at = policy_->wake_at();
  if (!at) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(*at);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) act();
  });
}

void ModelPool::stop() {
  stopped_ = true;
  timer_.cancel();
  if (host_) host_->stop();
}

bool ModelPool::close() {
  if (!host_) return true;
  std::vector<ServedPtr> left;
  for (auto& served : served_) {
    if (served) left.push_back(std::exchange(served, nullptr));
  }
  return host_->close(std::move(left));
}

}  // namespace hearth::server
