// A bounded queue from many threads to one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace hearth {

template <class T>
class Inbox {
 public:
  explicit Inbox(std::size_t capacity) : capacity_(capacity) {}

  /// @return false when the queue is full; the item is left where it was
  [[nodiscard]] bool push(T& item) {
    {
      const std::scoped_lock lock(mutex_);
      if (items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  /// Everything that waits, without blocking.
  std::vector<T> drain() {
    const std::scoped_lock lock(mutex_);
    return take();
  }

  /// Blocks until something waits or a stop is asked for (then it may return nothing).
  std::vector<T> wait(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, stop, [this] { return !items_.empty(); });
    return take();
  }

  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return items_.size();
  }

 private:
  std::vector<T> take() {
    std::vector<T> taken(std::make_move_iterator(items_.begin()),
                         std::make_move_iterator(items_.end()));
    items_.clear();
    return taken;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;  // guards items_
  std::condition_variable_any ready_;
  std::deque<T> items_;
};

}  // namespace hearth
