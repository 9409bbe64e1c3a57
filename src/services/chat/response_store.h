// Answers of the Responses wire that later requests go on from: kept for a while, within a bound.
// Safe to use from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/json.h"

namespace hearth::services {

struct StoredResponse {
  Json response;  // the whole object, as it was sent
  Json input;     // all items it answered, those of earlier responses among them; each has an id
};

class ResponseStore {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    std::size_t bytes = 32u << 20;    // of JSON text; the least recently used leave first
    std::chrono::seconds life{3600};  // from creation
  };

  explicit ResponseStore(Limits limits, std::function<Clock::time_point()> now = Clock::now);
  ResponseStore() : ResponseStore(Limits{}) {}

  /// Keeps it under response["id"]; one that is larger than the bound is not kept.
  void put(StoredResponse stored);
  /// Null when there is none, or it is too old.
  std::shared_ptr<const StoredResponse> find(const std::string& id);
  /// @return whether there was one
  bool erase(const std::string& id);

  /// {"entries","bytes","max_bytes","ttl_ms","evicted","expired"}
  Json stats();

 private:
  struct Entry {
    std::string id;
    std::shared_ptr<const StoredResponse> stored;
    std::size_t bytes;
    Clock::time_point created;
  };
  using Entries = std::list<Entry>;

  void drop(Entries::iterator entry);
  void drop_expired();

  const Limits limits_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;  // guards what follows
  Entries entries_;   // most recently used first
  std::unordered_map<std::string, Entries::iterator> by_id_;
  std::size_t bytes_ = 0;
  std::uint64_t evicted_ = 0, expired_ = 0;
};

}  // namespace hearth::services
