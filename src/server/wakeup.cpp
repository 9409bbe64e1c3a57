#include "server/wakeup.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace hearth::server {

void Wakeup::post() {
  if (posted_.exchange(true)) return;
  asio::post(io_, [self = shared_from_this()] {
    self->posted_ = false;
    self->notify();
  });
}

void Wakeup::notify() {
  set_ = true;
  timer_.cancel();
}

asio::awaitable<bool> Wakeup::wait_for(std::chrono::milliseconds limit) {
  if (!set_) {
    boost::system::error_code ignored;
    timer_.expires_after(limit);
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  co_return std::exchange(set_, false);
}

}  // namespace hearth::server
