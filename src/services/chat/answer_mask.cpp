#include "services/chat/answer_mask.h"

#include <utility>

namespace hearth::services {

using engine::MaskWords;

AnswerMask::AnswerMask(std::shared_ptr<const text::Grammars> grammars, ReasoningRule reasoning,
                       TextRule text)
    : grammars_(std::move(grammars)), reasoning_(std::move(reasoning)),
      matcher_(std::move(text.matcher)), trigger_(std::move(text.trigger)),
      one_call_(text.one_call), phase_(reasoning_.starts_inside ? Phase::reasoning
                                       : reasoning_.opening     ? Phase::start
                                                                : Phase::text),
      words_(grammars_->mask_words()) {}

MaskWords AnswerMask::only(text::TokenId id) {
  words_.assign(words_.size(), 0);
  words_[std::size_t(id) / 32] |= 1u << (id % 32);
  return words_;
}

Result<MaskWords> AnswerMask::text_mask() {
  if (!matcher_) {
    if (!trigger_) return MaskWords();
    words_.assign(words_.size(), ~0u);
    return trigger_->rule_out(words_) ? MaskWords(words_) : MaskWords();
  }
  if (auto ok = matcher_->mask(words_); !ok) return fail(ok.error());
  return MaskWords(words_);
}

Result<MaskWords> AnswerMask::compute() {
  if (phase_ == Phase::closing) return only(reasoning_.closing_ids[forced_]);
  if (phase_ == Phase::reasoning) return MaskWords();
  auto words = text_mask();
  if (phase_ == Phase::start && words && !words->empty()) {
    const auto id = *reasoning_.opening;
    words_[std::size_t(id) / 32] |= 1u << (id % 32);
  }
  return words;
}

Result<void> AnswerMask::accept(text::TokenId id) {
  if (phase_ == Phase::start) {
    phase_ = id == reasoning_.opening ? Phase::reasoning : Phase::text;
    if (phase_ == Phase::reasoning) return {};
  }
  if (phase_ == Phase::closing) {
    if (++forced_ == reasoning_.closing_ids.size()) phase_ = Phase::text;
    return {};
  }
  if (phase_ == Phase::reasoning) {
    in_reasoning(id);
    return {};
  }
  return in_text(id);
}

Result<void> AnswerMask::in_text(text::TokenId id) {
  if (matcher_) {
    auto taken = matcher_->accept(id);
    if (taken && trigger_ && matcher_->complete()) {
      matcher_.reset();
      trigger_->restart();
      done_ = one_call_;
    }
    return taken;
  }
  const CallOpening* opening = trigger_ ? trigger_->push(id) : nullptr;
  if (!opening) return {};
  auto rest = opening->after->copy();
  if (!rest) return fail(rest.error());
  matcher_ = std::move(*rest);
  return {};
}

void AnswerMask::in_reasoning(text::TokenId id) {
  ++spent_;
  tail_ += grammars_->bytes(id);
  if (tail_.find(reasoning_.closing) != tail_.npos) {
    phase_ = Phase::text;
    return;
  }
  const auto keep = reasoning_.closing.size() - 1;
  if (tail_.size() > keep) tail_.erase(0, tail_.size() - keep);
  if (reasoning_.budget && spent_ >= *reasoning_.budget && !reasoning_.closing_ids.empty()) {
    phase_ = Phase::closing;
  }
}

bool AnswerMask::complete() const {
  if (phase_ != Phase::text) return false;
  return done_ || (matcher_ && !trigger_ && matcher_->complete());
}

}  // namespace hearth::services
