#include "engine/token_stream.h"

#include <utility>

namespace hearth::engine {

std::optional<StreamItem> TokenStream::try_pop() {
  const std::scoped_lock lock(mutex_);
  if (items_.empty()) return std::nullopt;
  StreamItem item = std::move(items_.front());
  items_.pop_front();
  return item;
}

StreamItem TokenStream::pop() {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [this] { return !items_.empty(); });
  StreamItem item = std::move(items_.front());
  items_.pop_front();
  return item;
}

void TokenStream::on_ready(std::function<void()> notify) {
  const std::scoped_lock lock(mutex_);
  notify_ = std::move(notify);
  if (notify_ && !items_.empty()) notify_();
}

void TokenStream::push(StreamItem item) {
  {
    // notify_ runs under the lock, so that a reader who clears it knows that it will not run again.
    const std::scoped_lock lock(mutex_);
    if (items_.size() >= capacity_ && !std::holds_alternative<Finish>(item)) {
      stop_.request_stop();
      return;
    }
    items_.push_back(std::move(item));
    if (notify_) notify_();
  }
  ready_.notify_one();
}

}  // namespace hearth::engine
