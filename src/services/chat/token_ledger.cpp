#include "services/chat/token_ledger.h"

#include <utility>

namespace hearth::services {

void TokenLedger::add(TokenInfo info, std::size_t bytes) {
  ++tokens_;
  const auto begin = std::exchange(added_, added_ + bytes);
  waiting_.push_back({tell_ ? std::move(info) : TokenInfo{}, begin, added_});
}

void TokenLedger::settle(std::size_t bytes, bool reasoning) {
  settled_ += bytes;
  for (; counted_ < waiting_.size() && waiting_[counted_].begin < settled_; ++counted_) {
    reasoning_tokens_ += reasoning;
  }
  if (!tell_) take();
}

template <class Done>
std::vector<TokenInfo> TokenLedger::take_while(Done done) {
  std::vector<TokenInfo> out;
  while (counted_ > 0 && done(waiting_.front())) {
    if (tell_) out.push_back(std::move(waiting_.front().info));
    waiting_.pop_front();
    --counted_;
  }
  return out;
}

std::vector<TokenInfo> TokenLedger::take() {
  return take_while([this](const Waiting& w) { return w.end <= settled_; });
}

std::vector<TokenInfo> TokenLedger::take_begun() {
  return take_while([this](const Waiting& w) { return w.begin < settled_; });
}

std::vector<TokenInfo> TokenLedger::take_all(bool reasoning) {
  if (reasoning) reasoning_tokens_ += int(waiting_.size() - counted_);
  counted_ = waiting_.size();
  return take_while([](const Waiting&) { return true; });
}

}  // namespace hearth::services
