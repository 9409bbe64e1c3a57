#include "services/chat/call_trigger.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace hearth::services {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void clear(std::span<std::uint32_t> words, text::TokenId id) {
  words[std::size_t(id) / 32] &= ~(1u << (id % 32));
}

}  // namespace

CallTrigger::CallTrigger(std::shared_ptr<const text::Grammars> grammars,
                         std::vector<CallOpening> openings)
    : grammars_(std::move(grammars)), openings_(std::move(openings)), whole_(openings_.size()) {
  for (std::size_t i = 0; i < openings_.size(); ++i) {
    const auto& [opening, at_start_only, after] = openings_[i];
    longest_ = std::max(longest_, opening.size());
    for (text::TokenId id = 0; id < grammars_->vocab_size(); ++id) {
      const auto& bytes = grammars_->bytes(id);
      const auto at = bytes.find(opening);
      if (at == bytes.npos) continue;
      if (!after || at + opening.size() < bytes.size()) whole_[i].push_back(id);
    }
  }
}

void CallTrigger::rule_out_rests(const CallOpening& opening, std::size_t held,
                                 std::span<std::uint32_t> words, bool& any) const {
  const auto rest = std::string_view(opening.text).substr(held);
  for (text::TokenId id = 0; id < grammars_->vocab_size(); ++id) {
    const auto& bytes = grammars_->bytes(id);
    if (!bytes.starts_with(rest) || (opening.after && bytes.size() == rest.size())) continue;
    clear(words, id);
    any = true;
  }
}

bool CallTrigger::rule_out(std::span<std::uint32_t> words) const {
  bool any = false;
  for (std::size_t i = 0; i < openings_.size(); ++i) {
    const auto& opening = openings_[i];
    if (!fits(opening)) continue;
    for (const auto id : whole_[i]) clear(words, id);
    any = any || !whole_[i].empty();
    for (std::size_t held = 1; held < opening.text.size(); ++held) {
      if (tail_.ends_with(std::string_view(opening.text).substr(0, held))) {
        rule_out_rests(opening, held, words, any);
      }
    }
  }
  return any;
}

const CallOpening* CallTrigger::push(text::TokenId id) {
  const auto& bytes = grammars_->bytes(id);
  tail_ += bytes;
  const CallOpening* found = nullptr;
  for (const auto& opening : openings_) {
    if (opening.after && fits(opening) && tail_.ends_with(opening.text)) found = &opening;
  }
  if (found) return found;
  // A first opening may be longer than one token: the start lasts while it can still come.
  const bool begins = std::ranges::any_of(openings_, [&](const CallOpening& opening) {
    const auto text = tail_.find_first_not_of(" \t\r\n");
    return opening.at_start_only && text != tail_.npos &&
           std::string_view(opening.text).starts_with(std::string_view(tail_).substr(text));
  });
  at_start_ = at_start_ && (begins || std::ranges::all_of(tail_, is_space));
  if (!at_start_ && tail_.size() >= longest_) tail_.erase(0, tail_.size() - longest_ + 1);
  return nullptr;
}

void CallTrigger::restart() {
  tail_.clear();
  at_start_ = true;
}

}  // namespace hearth::services
