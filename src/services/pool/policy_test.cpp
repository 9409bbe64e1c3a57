#include "services/pool/policy.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

namespace hearth::services {
namespace {

using namespace std::chrono_literals;
using Kind = PoolPolicy::Decision::Kind;
using State = PoolPolicy::State;

PoolModel model(std::string id, std::size_t bytes = 10) {
  return {.id = std::move(id), .bytes = bytes, .pinned = false, .idle_unload = {}};
}

/// A pool, a clock, and words for what was decided.
class Pool {
 public:
  Pool(PoolLimits limits, std::vector<PoolModel> models) : policy(limits, models) {
    for (const auto& m : models) names_.push_back(m.id);
  }

  /// "load a, grant 1": what follows from what was told since.
  std::string next() {
    std::string out;
    for (const auto& d : policy.decide(now)) {
      if (!out.empty()) out += ", ";
      if (d.kind == Kind::grant) out += "grant " + std::to_string(d.ticket);
      if (d.kind == Kind::refuse) out += "refuse " + std::to_string(d.ticket);
      if (d.kind == Kind::load) out += "load " + names_[d.model];
      if (d.kind == Kind::unload) out += "unload " + names_[d.model];
      last = d;
    }
    policy.check_invariants();
    return out;
  }
  PoolPolicy::Ticket ask(std::size_t m) { return policy.ask(m); }
  std::string leave(PoolPolicy::Ticket ticket) {
    now += 1s;
    policy.leave(ticket, now);
    return next();
  }
  std::string loaded(std::size_t m, std::size_t bytes = 10) {
    now += 1s;
    policy.loaded(m, bytes, now);
    return next();
  }
  std::string unloaded(std::size_t m) {
    policy.unloaded(m);
    return next();
  }
  /// Asks, loads and lets go.
  void warm(std::size_t m) {
    const auto ticket = ask(m);
    next();
    loaded(m);
    leave(ticket);
  }

  PoolPolicy policy;
  PoolPolicy::Time now{};
  PoolPolicy::Decision last;

 private:
  std::vector<std::string> names_;
};

constexpr std::size_t a = 0, b = 1, c = 2;

TEST(PoolPolicy, RequestsForOneModelShareItsLoad) {
  Pool pool({.resident = 2}, {model("a"), model("b")});
  pool.ask(a);
  EXPECT_EQ(pool.next(), "load a");
  pool.ask(a);
  EXPECT_EQ(pool.next(), "");
  EXPECT_EQ(pool.loaded(a), "grant 1, grant 2");
}

TEST(PoolPolicy, ResidentModelsServeWhileAnotherLoads) {
  Pool pool({.resident = 2}, {model("a"), model("b")});
  pool.warm(a);
  pool.ask(b);
  EXPECT_EQ(pool.next(), "load b");
  pool.ask(a);
  EXPECT_EQ(pool.next(), "grant 3");
}

TEST(PoolPolicy, LoadsHappenOneAtATime) {
  Pool pool({.resident = 3}, {model("a"), model("b"), model("c")});
  pool.ask(a), pool.ask(b), pool.ask(c);
  EXPECT_EQ(pool.next(), "load a");
  EXPECT_EQ(pool.loaded(a), "grant 1, load b");
  EXPECT_EQ(pool.loaded(b), "grant 2, load c");
}

TEST(PoolPolicy, TheLeastRecentlyUsedMakesRoom) {
  Pool pool({.resident = 2}, {model("a"), model("b"), model("c")});
  pool.warm(a);
  pool.warm(b);
  pool.leave((pool.ask(a), pool.next(), 3));  // a is used again
  pool.ask(c);
  EXPECT_EQ(pool.next(), "unload b");
  EXPECT_EQ(pool.unloaded(b), "load c");
  EXPECT_EQ(pool.loaded(c), "grant 4");
}

TEST(PoolPolicy, AModelThatIsHeldIsNeverUnloaded) {
  Pool pool({.resident = 1}, {model("a"), model("b")});
  const auto holder = pool.ask(a);
  pool.next(), pool.loaded(a);
  pool.ask(b);
  EXPECT_EQ(pool.next(), "");
  pool.now += 1h;
  EXPECT_EQ(pool.next(), "");
  EXPECT_EQ(pool.leave(holder), "unload a");
  EXPECT_EQ(pool.unloaded(a), "load b");
}

TEST(PoolPolicy, RequestsForAModelThatMustGoWaitTheirTurn) {
  Pool pool({.resident = 1}, {model("a"), model("b")});
  const auto holder = pool.ask(a);
  pool.next(), pool.loaded(a);
  const auto other = pool.ask(b);
  pool.ask(a);
  EXPECT_EQ(pool.next(), "");  // not granted: b was here first
  EXPECT_EQ(pool.leave(holder), "unload a");
  EXPECT_EQ(pool.unloaded(a), "load b");
  EXPECT_EQ(pool.loaded(b), "grant 2");
  EXPECT_EQ(pool.leave(other), "unload b");
  EXPECT_EQ(pool.unloaded(b), "load a");
  EXPECT_EQ(pool.loaded(a), "grant 3");
}

TEST(PoolPolicy, AnIdleModelIsGivenUpBeforeOneThatIsHeld) {
  Pool pool({.resident = 2}, {model("a"), model("b"), model("c")});
  pool.ask(a);
  pool.next(), pool.loaded(a);  // held, and used longer ago
  pool.warm(b);
  pool.ask(c);
  EXPECT_EQ(pool.next(), "unload b");
}

TEST(PoolPolicy, AWaiterThatLeavesGivesNothingUp) {
  Pool pool({.resident = 1}, {model("a"), model("b")});
  const auto holder = pool.ask(a);
  pool.next(), pool.loaded(a);
  const auto left = pool.ask(b);
  pool.ask(a);
  pool.next();
  EXPECT_EQ(pool.leave(left), "grant 3");
  EXPECT_EQ(pool.leave(holder), "");
  EXPECT_EQ(pool.policy.state(a), State::resident);
}

TEST(PoolPolicy, AFailedLoadIsToldToItsWaitersAndTriedAnewByTheNext) {
  Pool pool({.resident = 2}, {model("a"), model("b")});
  pool.ask(a), pool.ask(a), pool.ask(b);
  EXPECT_EQ(pool.next(), "load a");
  const Error error{ErrorCode::corrupt_file, "cut off", ""};
  pool.policy.failed(a, error);
  EXPECT_EQ(pool.next(), "refuse 1, refuse 2, load b");
  pool.ask(a);
  EXPECT_EQ(pool.loaded(b), "grant 3, load a");
}

TEST(PoolPolicy, MemoryCountsLoadsInFlight) {
  Pool pool({.resident = 9, .memory_bytes = 25}, {model("a"), model("b"), model("c")});
  pool.ask(a), pool.ask(b), pool.ask(c);
  EXPECT_EQ(pool.next(), "load a");
  EXPECT_EQ(pool.policy.bytes(), 10u);
  EXPECT_EQ(pool.loaded(a), "grant 1, load b");
  EXPECT_EQ(pool.loaded(b), "grant 2");  // 30 bytes would be too many
  EXPECT_EQ(pool.leave(1), "unload a");
  EXPECT_EQ(pool.unloaded(a), "load c");
}

TEST(PoolPolicy, WhatAModelReallyTakesCountsOnceItIsKnown) {
  Pool pool({.resident = 9, .memory_bytes = 25}, {model("a"), model("b")});
  pool.ask(a);
  pool.next();
  pool.loaded(a, 20);
  pool.ask(b);
  EXPECT_EQ(pool.next(), "");
  EXPECT_EQ(pool.leave(1), "unload a");
}

TEST(PoolPolicy, WhatCanNeverFitIsRefusedWithTheBytes) {
  auto pinned = model("a", 20);
  pinned.pinned = true;
  Pool pool({.resident = 2, .memory_bytes = 25}, {pinned, model("b"), model("c", 99)});
  const auto holder = pool.ask(a);
  pool.next(), pool.loaded(a, 20), pool.leave(holder);
  pool.ask(b);
  EXPECT_EQ(pool.next(), "refuse 2");
  EXPECT_EQ(pool.last.error.code, ErrorCode::unavailable);
  EXPECT_EQ(pool.last.error.message,
            "b cannot be loaded: it needs 10 bytes, 5 of 25 are left beside pinned models");
  pool.ask(c);
  EXPECT_EQ(pool.next(), "refuse 3");
  pool.ask(a);
  EXPECT_EQ(pool.next(), "grant 4");
}

TEST(PoolPolicy, PlacesOfPinnedModelsAreNotGivenUp) {
  auto pinned = model("a");
  pinned.pinned = true;
  pinned.idle_unload = 1s;
  Pool pool({.resident = 1}, {pinned, model("b")});
  pool.warm(a);
  pool.now += 1h;
  EXPECT_EQ(pool.next(), "");
  pool.ask(b);
  EXPECT_EQ(pool.next(), "refuse 2");
  EXPECT_EQ(pool.last.error.message, "b cannot be loaded: all 1 places are taken by pinned models");
}

TEST(PoolPolicy, IdleTimeCountsFromTheLastUse) {
  auto idle = model("a");
  idle.idle_unload = 60s;
  Pool pool({.resident = 1}, {idle});
  const auto holder = pool.ask(a);
  pool.next(), pool.loaded(a);
  EXPECT_EQ(pool.policy.wake_at(), std::nullopt);  // held
  pool.now += 1h;
  EXPECT_EQ(pool.next(), "");
  pool.leave(holder);
  EXPECT_EQ(pool.policy.wake_at(), pool.now + 60s);
  pool.now += 59s;
  EXPECT_EQ(pool.next(), "");
  pool.now += 1s;
  EXPECT_EQ(pool.next(), "unload a");
  EXPECT_EQ(pool.unloaded(a), "");
}

TEST(PoolPolicy, ALostModelIsHeldByNobodyAndComesAgain) {
  Pool pool({.resident = 1}, {model("a"), model("b")});
  const auto holder = pool.ask(a);
  pool.next(), pool.loaded(a);
  pool.policy.lost(a, true);
  EXPECT_EQ(pool.next(), "");
  pool.ask(a);
  EXPECT_EQ(pool.next(), "");
  EXPECT_EQ(pool.loaded(a), "grant 2");
  EXPECT_EQ(pool.leave(holder), "");
  EXPECT_EQ(pool.policy.held(a), 1);
  pool.policy.lost(a, false);
  pool.ask(a);
  EXPECT_EQ(pool.next(), "load a");  // named again
}

/// A random day: requests come and go, loads fail, models are lost. At its end nobody waits.
class RandomDay {
 public:
  explicit RandomDay(unsigned seed)
      : random_(seed), pool_({.resident = 2, .memory_bytes = 35}, models()) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      something();
      follow();
    }
    for (int i = 0; i < 10'000 && !(waiting_.empty() && under_way_.empty()); ++i) {
      finish_one();
      follow();
    }
    EXPECT_TRUE(waiting_.empty()) << waiting_.size() << " requests were never answered";
  }

 private:
  static std::vector<PoolModel> models() {
    auto timed = model("b", 20);
    timed.idle_unload = 3s;
    return {model("a", 10), timed, model("c", 15), model("d", 30)};
  }
  int pick(int n) { return std::uniform_int_distribution(0, n - 1)(random_); }

  void something() {
    now_ += 1s;
    if (pick(3) > 0) {
      waiting_.insert(pool_.ask(std::size_t(pick(4))));
    } else if (pick(4) == 0 && !waiting_.empty()) {
      pool_.leave(*waiting_.begin(), now_);
      waiting_.erase(waiting_.begin());
    } else if (pick(6) == 0) {
      lose_one();
    } else {
      finish_one();
    }
  }
  void lose_one() {
    for (std::size_t m = 0; m < 4; ++m) {
      if (pool_.state(m) != State::resident) continue;
      const bool again = pick(2) == 0;
      pool_.lost(m, again);
      if (again) under_way_.push_back({Kind::load, m, 0, {}});
      return;
    }
  }
  void finish_one() {
    if (!under_way_.empty() && (granted_.empty() || pick(2) == 0)) {
      const auto d = under_way_.front();
      under_way_.pop_front();
      if (d.kind == Kind::unload) return pool_.unloaded(d.model);
      if (pick(5) == 0) return pool_.failed(d.model, {ErrorCode::io, "gone", ""});
      return pool_.loaded(d.model, models()[d.model].bytes, now_);
    }
    if (granted_.empty()) return;
    const auto ticket = granted_[std::size_t(pick(int(granted_.size())))];
    std::erase(granted_, ticket);
    pool_.leave(ticket, now_);
  }
  void follow() {
    for (const auto& d : pool_.decide(now_)) {
      if (d.kind == Kind::load || d.kind == Kind::unload) under_way_.push_back(d);
      if (d.kind == Kind::grant) granted_.push_back(d.ticket);
      if (d.kind == Kind::grant || d.kind == Kind::refuse) {
        EXPECT_EQ(waiting_.erase(d.ticket), 1u);
      }
    }
    pool_.check_invariants();
    EXPECT_LE(pool_.bytes(), 35u);
  }

  std::mt19937 random_;
  PoolPolicy pool_;
  PoolPolicy::Time now_{};
  std::set<PoolPolicy::Ticket> waiting_;
  std::vector<PoolPolicy::Ticket> granted_;
  std::deque<PoolPolicy::Decision> under_way_;
};

TEST(PoolPolicy, RandomDaysKeepItsBoundsAndAnswerEverybody) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomDay(seed).run(300);
  }
}

TEST(PoolPolicy, ModelsComeAndGoWhileItRuns) {
  Pool pool({.resident = 2}, {model("a"), model("b")});
  pool.warm(0);
  pool.warm(1);
  EXPECT_EQ(pool.policy.add(model("c")), 2u);
  const auto held = pool.ask(1);
  EXPECT_EQ(pool.next(), "grant " + std::to_string(held));
  pool.policy.retire(1);
  EXPECT_EQ(pool.next(), "");  // somebody uses it
  EXPECT_EQ(pool.leave(held), "unload b");
  EXPECT_EQ(pool.unloaded(1), "");
  pool.policy.change(1, model("b", 7));
  const auto again = pool.ask(1);
  EXPECT_EQ(pool.next(), "load b");
  EXPECT_EQ(pool.policy.bytes(), 17u);
  EXPECT_EQ(pool.loaded(1, 7), "grant " + std::to_string(again));
  EXPECT_EQ(pool.leave(again), "");
}

}  // namespace
}  // namespace hearth::services
