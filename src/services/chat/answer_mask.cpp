#include "services/chat/answer_mask.h"

#include <utility>

namespace hearth::services {

using engine::MaskWords;

AnswerMask::AnswerMask(std::shared_ptr<const text::Grammars> grammars, ReasoningRule reasoning,
                       TextRule text)
    : grammars_(std::move(grammars)), reasoning_(std::move(reasoning)),
      matcher_(std::move(text.matcher)), trigger_(std::move(text.trigger)),
      one_call_(text.one_call), phase_(reasoning_.starts_inside      ? Phase::reasoning
                                       : !reasoning_.opening.empty() ? Phase::start
                                                                     : Phase::text),
      closing_(reasoning_.closing_ids), words_(grammars_->mask_words()) {
  closing_.insert(closing_.end(), reasoning_.next_ids.begin(), reasoning_.next_ids.end());
}

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
  if (phase_ == Phase::closing) return only(closing_[forced_]);
  if (phase_ == Phase::reasoning) return MaskWords();
  return phase_ == Phase::start ? start_mask() : text_mask();
}

Result<MaskWords> AnswerMask::start_mask() {
  const auto id = reasoning_.opening[opened_];
  if (!text_began_) return only(id);
  auto words = text_mask();
  if (words && !words->empty()) words_[std::size_t(id) / 32] |= 1u << (id % 32);
  return words;
}

/// The text may begin as the opening of the reasoning does: it is followed until they part.
Result<void> AnswerMask::in_start(text::TokenId id) {
  if (id != reasoning_.opening[opened_]) {
    phase_ = Phase::text;
    return in_text(id);
  }
  const bool whole = ++opened_ == reasoning_.opening.size();
  if (whole) {
    phase_ = Phase::reasoning;
    if (fresh_) matcher_ = std::move(fresh_);
    if (trigger_) trigger_->restart();
    return {};
  }
  if (matcher_ && opened_ == 1) {
    auto copy = matcher_->copy();
    if (!copy) return fail(copy.error());
    fresh_ = std::move(*copy);
  }
  text_began_ = text_began_ && in_text(id).has_value();
  return {};
}

Result<void> AnswerMask::accept(text::TokenId id) {
  if (phase_ == Phase::start) return in_start(id);
  if (phase_ == Phase::closing) {
    if (trigger_ && forced_ >= reasoning_.closing_ids.size()) trigger_->push(id);
    if (++forced_ == closing_.size()) phase_ = Phase::text;
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
    close(reasoning_.closing_ids.size());
    return;
  }
  const auto keep = reasoning_.closing.size() - 1;
  if (tail_.size() > keep) tail_.erase(0, tail_.size() - keep);
  if (reasoning_.budget && spent_ >= *reasoning_.budget && !reasoning_.closing_ids.empty()) {
    close(0);
  }
}

/// Goes on to the text, once what closes the reasoning is forced but for its first `forced` tokens.
void AnswerMask::close(std::size_t forced) {
  forced_ = forced;
  phase_ = forced < closing_.size() ? Phase::closing : Phase::text;
}

bool AnswerMask::complete() const {
  if (phase_ != Phase::text) return false;
  return done_ || (matcher_ && !trigger_ && matcher_->complete());
}

}  // namespace hearth::services
