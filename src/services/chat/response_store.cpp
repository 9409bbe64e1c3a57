#include "services/chat/response_store.h"

#include <utility>

#include "services/chat/openai_common.h"

namespace hearth::services {

ResponseStore::ResponseStore(Limits limits, std::function<Clock::time_point()> now)
    : limits_(limits), now_(std::move(now)) {}

void ResponseStore::put(StoredResponse stored) {
  const auto id = stored.response["id"].get<std::string>();
  const std::size_t bytes = dump(stored.response).size() + dump(stored.input).size();
  auto kept = std::make_shared<const StoredResponse>(std::move(stored));
  const std::scoped_lock lock(mutex_);
  drop_expired();
  if (const auto old = by_id_.find(id); old != by_id_.end()) drop(old->second);
  if (bytes > limits_.bytes) return;
  for (; bytes_ + bytes > limits_.bytes; ++evicted_) drop(std::prev(entries_.end()));
  entries_.push_front({id, std::move(kept), bytes, now_()});
  by_id_[id] = entries_.begin();
  bytes_ += bytes;
}

std::shared_ptr<const StoredResponse> ResponseStore::find(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  drop_expired();
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->stored;
}

bool ResponseStore::erase(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  drop_expired();
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  drop(found->second);
  return true;
}

Json ResponseStore::stats() {
  const std::scoped_lock lock(mutex_);
  drop_expired();
  return {{"entries", entries_.size()}, {"bytes", bytes_},
          {"max_bytes", limits_.bytes}, {"ttl_ms", limits_.life.count() * 1000},
          {"evicted", evicted_},        {"expired", expired_}};
}

void ResponseStore::drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

void ResponseStore::drop_expired() {
  const auto oldest = now_() - limits_.life;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->created <= oldest) {
      drop(entry);
      ++expired_;
    }
    entry = next;
  }
}

}  // namespace hearth::services
