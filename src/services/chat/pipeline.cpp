#include "services/chat/pipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hearth::services {

OutputPipeline::OutputPipeline(std::shared_ptr<const text::Tokenizer> tokenizer,
                               std::vector<std::string> stop, bool tell_tokens)
    : detokenizer_(std::move(tokenizer)), stop_(std::move(stop)), tell_tokens_(tell_tokens) {}

void OutputPipeline::push(const engine::StreamItem& item, std::vector<Event>& events) {
  if (finished_) return;
  if (const auto* sampled = std::get_if<engine::Sampled>(&item)) {
    if (!stopped()) token(*sampled, events);
  } else {
    finish(std::get<engine::Finish>(item), events);
  }
}

void OutputPipeline::token(const engine::Sampled& token, std::vector<Event>& events) {
  ++tokens_;
  const std::string text = detokenizer_.push(token.id);
  const std::size_t begin = std::exchange(decoded_, decoded_ + text.size());
  if (tell_tokens_) waiting_.push_back({{{token.id, token.logprob}, token.top}, begin, decoded_});
  emit(stop_.push(text), false, events);
}

void OutputPipeline::finish(engine::Finish finish, std::vector<Event>& events) {
  finished_ = true;
  if (!stopped()) {
    std::string text = stop_.push(detokenizer_.finish());
    text += stop_.finish();
    emit(std::move(text), !stopped(), events);
  }
  Finished end{.reason = finish.reason,
               .stop_sequence = stop_.matched().value_or(""),
               .usage = {finish.usage},
               .error = std::move(finish.error)};
  if (stopped()) {
    end.reason = engine::FinishReason::stop;
    end.usage.completion_tokens = tokens_;  // the engine may have been a token ahead
    end.error.reset();
  }
  events.emplace_back(std::move(end));
}

/// Sends text, and with it the tokens whose text is out. At a stop string a token is told when any
/// of its text is out; at the end all are.
void OutputPipeline::emit(std::string text, bool all_tokens, std::vector<Event>& events) {
  emitted_ += text.size();
  std::vector<TokenInfo> tokens;
  const auto out = [&](const Waiting& w) {
    return all_tokens || w.end <= emitted_ || (stopped() && w.begin < emitted_);
  };
  while (!waiting_.empty() && out(waiting_.front())) {
    tokens.push_back(std::move(waiting_.front().info));
    waiting_.pop_front();
  }
  if (text.empty() && tokens.empty()) return;
  if (events.empty() || !std::holds_alternative<TextDelta>(events.back())) {
    events.emplace_back(TextDelta{});
  }
  auto& delta = std::get<TextDelta>(events.back());
  delta.text += text;
  std::ranges::move(tokens, std::back_inserter(delta.tokens));
}

}  // namespace hearth::services
