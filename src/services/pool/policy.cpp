#include "services/pool/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hearth::services {
namespace {

using Kind = PoolPolicy::Decision::Kind;

/// What the models that count towards a bound take.
struct Taken {
  int models = 0;
  std::size_t bytes = 0;
  void add(std::size_t more) {
    ++models;
    bytes += more;
  }
  void remove(std::size_t less) {
    --models;
    bytes -= less;
  }
  bool has_room(const PoolLimits& limits, std::size_t more) const {
    const bool fits = limits.memory_bytes == 0 || bytes + more <= limits.memory_bytes;
    return models < limits.resident && fits;
  }
};

}  // namespace

PoolPolicy::PoolPolicy(PoolLimits limits, std::vector<PoolModel> models) : limits_(limits) {
  for (auto& model : models) slots_.push_back({.model = std::move(model), .error = {}});
}

PoolPolicy::Model PoolPolicy::add(PoolModel model) {
  slots_.push_back({.model = std::move(model), .error = {}});
  return slots_.size() - 1;
}

void PoolPolicy::change(Model model, PoolModel known) {
  Slot& slot = slots_[model];
  if (slot.state != State::absent) known.bytes = slot.model.bytes;
  slot.model = std::move(known);
}

void PoolPolicy::retire(Model model) {
  slots_[model].model.pinned = false;
  slots_[model].model.idle_unload = std::chrono::seconds(0);
}

PoolPolicy::Ticket PoolPolicy::ask(Model model) {
  queue_.push_back({.ticket = next_, .model = model});
  return next_++;
}

void PoolPolicy::leave(Ticket ticket, Time now) {
  std::erase_if(queue_, [&](const Request& r) { return r.ticket == ticket; });
  const auto found = std::ranges::find(granted_, ticket, &Request::ticket);
  if (found == granted_.end()) return;
  Slot& slot = slots_[found->model];
  if (found->incarnation == slot.incarnation) {
    --slot.held;
    slot.used = now;
  }
  granted_.erase(found);
}

void PoolPolicy::loaded(Model model, std::size_t bytes, Time now) {
  Slot& slot = slots_[model];
  slot.state = State::resident;
  slot.model.bytes = bytes;
  slot.used = now;
}

void PoolPolicy::failed(Model model, Error error) {
  slots_[model].state = State::absent;
  slots_[model].error = std::move(error);
}

void PoolPolicy::unloaded(Model model) { slots_[model].state = State::absent; }

void PoolPolicy::lost(Model model, bool again) {
  Slot& slot = slots_[model];
  slot.state = again ? State::loading : State::absent;
  slot.held = 0;
  ++slot.incarnation;
}

std::vector<PoolPolicy::Decision> PoolPolicy::decide(Time now) {
  std::vector<Decision> out;
  settle_failed(out);
  walk_queue(now, out);
  unload_idle(now, out);
  return out;
}

void PoolPolicy::settle_failed(std::vector<Decision>& out) {
  std::erase_if(queue_, [&](const Request& request) {
    const auto& error = slots_[request.model].error;
    if (error) out.push_back({Kind::refuse, request.model, request.ticket, *error});
    return error.has_value();
  });
  for (Slot& slot : slots_) slot.error.reset();
}

void PoolPolicy::walk_queue(Time now, std::vector<Decision>& out) {
  std::vector<bool> blocked(slots_.size());  // an earlier request waits for its place
  bool busy = std::ranges::count(slots_, State::loading, &Slot::state) > 0;
  std::vector<Request> still;
  for (Request& request : queue_) {
    Slot& slot = slots_[request.model];
    if (slot.state == State::resident && !blocked[request.model]) {
      ++slot.held;
      slot.used = now;
      request.incarnation = slot.incarnation;
      granted_.push_back(request);
      out.push_back({Kind::grant, request.model, request.ticket, {}});
      continue;
    }
    if (slot.state == State::absent && !busy) {
      if (auto error = never_fits(request.model)) {
        out.push_back({Kind::refuse, request.model, request.ticket, std::move(*error)});
        continue;
      }
      make_room(request, out, blocked);
      busy = true;
    }
    still.push_back(request);
  }
  queue_ = std::move(still);
}

/// Loads the request's model, or sees to it that there will be room for it.
void PoolPolicy::make_room(const Request& request, std::vector<Decision>& out,
                           std::vector<bool>& blocked) {
  Slot& wanted = slots_[request.model];
  Taken now, later;  // with and without the models that go
  for (const Slot& slot : slots_) {
    if (slot.state == State::absent) continue;
    now.add(slot.model.bytes);
    if (slot.state != State::unloading) later.add(slot.model.bytes);
  }
  if (now.has_room(limits_, wanted.model.bytes)) {
    wanted.state = State::loading;
    out.push_back({Kind::load, request.model, 0, {}});
    return;
  }
  for (const Model victim : victims()) {
    if (later.has_room(limits_, wanted.model.bytes)) break;
    later.remove(slots_[victim].model.bytes);
    if (slots_[victim].held == 0) {
      begin_unload(victim, out);
    } else {
      blocked[victim] = true;
    }
  }
}

/// Models that may go, the first one first: those that nobody holds, then by their last use.
std::vector<PoolPolicy::Model> PoolPolicy::victims() const {
  std::vector<Model> found;
  for (Model i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state == State::resident && !slots_[i].model.pinned) found.push_back(i);
  }
  std::ranges::stable_sort(found, {},
                           [&](Model i) { return std::pair(slots_[i].held > 0, slots_[i].used); });
  return found;
}

/// Why there will never be room: the model is too large beside those that stay.
std::optional<Error> PoolPolicy::never_fits(Model model) const {
  Taken pinned;
  for (const Slot& slot : slots_) {
    if (slot.model.pinned && slot.state != State::absent) pinned.add(slot.model.bytes);
  }
  const PoolModel& wanted = slots_[model].model;
  if (pinned.has_room(limits_, wanted.bytes)) return std::nullopt;
  if (pinned.models >= limits_.resident) {
    return Error{ErrorCode::unavailable,
                 fmt::format("{} cannot be loaded: all {} places are taken by pinned models",
                             wanted.id, limits_.resident),
                 "model"};
  }
  const std::size_t left = limits_.memory_bytes - std::min(limits_.memory_bytes, pinned.bytes);
  return Error{
      ErrorCode::unavailable,
      fmt::format("{} cannot be loaded: it needs {} bytes, {} of {} are left beside pinned "
                  "models",
                  wanted.id, wanted.bytes, left, limits_.memory_bytes),
      "model"};
}

void PoolPolicy::begin_unload(Model model, std::vector<Decision>& out) {
  slots_[model].state = State::unloading;
  ++slots_[model].incarnation;
  out.push_back({Kind::unload, model, 0, {}});
}

/// When a model's time without use is over; none while it is held, pinned or not to be unloaded.
std::optional<PoolPolicy::Time> PoolPolicy::idle_since_too_long(const Slot& slot) const {
  const bool stays = slot.state != State::resident || slot.held > 0 || slot.model.pinned;
  if (stays || !slot.model.idle_unload) return std::nullopt;
  return slot.used + *slot.model.idle_unload;
}

void PoolPolicy::unload_idle(Time now, std::vector<Decision>& out) {
  for (Model i = 0; i < slots_.size(); ++i) {
    const auto over = idle_since_too_long(slots_[i]);
    if (over && *over <= now) begin_unload(i, out);
  }
}

std::optional<PoolPolicy::Time> PoolPolicy::wake_at() const {
  std::optional<Time> first;
  for (const Slot& slot : slots_) {
    const auto over = idle_since_too_long(slot);
    if (over && (!first || *over < *first)) first = over;
  }
  return first;
}

int PoolPolicy::waiting(Model model) const {
  return int(std::ranges::count(queue_, model, &Request::model));
}

std::size_t PoolPolicy::bytes() const {
  std::size_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.state == State::absent ? 0 : slot.model.bytes;
  return sum;
}

void PoolPolicy::check_invariants() const {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
  };
  std::vector<int> held(slots_.size());
  for (const Request& request : granted_) {
    held[request.model] += request.incarnation == slots_[request.model].incarnation;
  }
  int present = 0, loading = 0;
  for (Model i = 0; i < slots_.size(); ++i) {
    must(slots_[i].held == held[i], "a model's holders are miscounted");
    must(held[i] == 0 || slots_[i].state == State::resident, "a model that is held is not there");
    present += slots_[i].state != State::absent;
    loading += slots_[i].state == State::loading;
  }
  must(present <= limits_.resident, "more models than the limit");
}

}  // namespace hearth::services
