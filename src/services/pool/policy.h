// Which model is loaded or unloaded next, and whose request may begin. Plain values: no models, no
// threads, no clock of its own.
//
// Requests stand in one queue in the order they came. One whose model is resident begins at once,
// unless an earlier one waits for that model's place. Loads happen one at a time; a place is made
// by unloading the least recently used model that no request holds. When every model is held, the
// least recently used one takes no further request until it is let go, so that nobody starves.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace hearth::services {

struct PoolLimits {
  int resident = 1;              // models at once, those that come or go counted
  std::size_t memory_bytes = 0;  // for all of them together, counted in the same way; 0: no limit
};

struct PoolModel {
  std::string id;         // for messages
  std::size_t bytes = 0;  // what it takes, or an estimate until it was loaded once
  bool pinned = false;    // once loaded it stays
  std::optional<std::chrono::seconds> idle_unload;  // unloaded when unused for so long
};

class PoolPolicy {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Model = std::size_t;  // index into the list given at the start
  using Ticket = std::uint64_t;

  enum class State { absent, loading, resident, unloading };

  struct Decision {
    enum class Kind { grant, refuse, load, unload };
    Kind kind = Kind::grant;
    Model model = 0;
    Ticket ticket = 0;  // of grant and refuse
    Error error;        // of refuse

    bool operator==(const Decision&) const = default;
  };

  PoolPolicy(PoolLimits limits, std::vector<PoolModel> models);

  // --- what there is to ask for
  /// One more. @return its index
  Model add(PoolModel model);
  /// What is known of a model anew. What it takes while it is there stays as it was loaded.
  void change(Model model, PoolModel known);
  /// Nobody will ask for it any more: it goes when nobody holds it.
  void retire(Model model);

  // --- what happened; decide() says what follows
  /// A request wants the model.
  Ticket ask(Model model);
  /// A request is over, whether it was granted, waits or was refused.
  void leave(Ticket ticket, Time now);
  void loaded(Model model, std::size_t bytes, Time now);
  /// Every request that waits for it gets the error.
  void failed(Model model, Error error);
  void unloaded(Model model);
  /// A resident model is gone; those who held it hold nothing. @param again  it is being loaded
  void lost(Model model, bool again);

  /// What is to be done now, each once.
  std::vector<Decision> decide(Time now);
  /// When decide() has something to do though nothing happened: a model was unused for long enough.
  std::optional<Time> wake_at() const;

  const PoolLimits& limits() const { return limits_; }
  State state(Model model) const { return slots_[model].state; }
  int held(Model model) const { return slots_[model].held; }
  int waiting(Model model) const;
  /// Of models that are there, come or go.
  std::size_t bytes() const;

  /// Throws std::logic_error when a bound is passed or a count is wrong.
  void check_invariants() const;

 private:
  struct Slot {
    PoolModel model;
    State state = State::absent;
    int held = 0;                // granted and not left
    int incarnation = 0;         // holders of an earlier one hold nothing
    std::optional<Error> error;  // of the load that just failed
    Time used{};
  };
  struct Request {
    Ticket ticket;
    Model model;
    int incarnation = 0;  // of its grant
  };

  void settle_failed(std::vector<Decision>& out);
  void walk_queue(Time now, std::vector<Decision>& out);
  void make_room(const Request& request, std::vector<Decision>& out, std::vector<bool>& blocked);
  void unload_idle(Time now, std::vector<Decision>& out);
  void begin_unload(Model model, std::vector<Decision>& out);
  std::optional<Error> never_fits(Model model) const;
  std::optional<Time> idle_since_too_long(const Slot& slot) const;
  std::vector<Model> victims() const;

  const PoolLimits limits_;
  std::vector<Slot> slots_;
  std::vector<Request> queue_;    // that wait, in the order they came
  std::vector<Request> granted_;  // that have begun
  Ticket next_ = 1;
};

}  // namespace hearth::services
