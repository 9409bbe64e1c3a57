#include "services/chat/block_encoder.h"

#include <utility>

#include "services/chat/typed_events.h"

namespace hearth::services {

std::string BlockEncoder::frames(const ChoiceEvent& event) {
  if (const auto* text = std::get_if<TextDelta>(&event.event)) {
    more(Block::text, text->text, text->tokens);
  } else if (const auto* reasoning = std::get_if<ReasoningDelta>(&event.event)) {
    more(Block::reasoning, reasoning->text, reasoning->tokens);
  } else if (const auto* call = std::get_if<ToolCall>(&event.event)) {
    close_block(false);
    drop_held();
    any_ = true;
    tool_call(*call);
  } else {
    finish(std::get<Finished>(event.event));
  }
  return std::exchange(out_, {});
}

void BlockEncoder::send(const std::string& frame) {
  if (stream_) out_ += frame;
}

void BlockEncoder::drop_held() {
  held_.clear();
  held_tokens_.clear();
}

void BlockEncoder::more(Block block, const std::string& text,
                        const std::vector<TokenInfo>& tokens) {
  if (open_ == block) {
    if (!text.empty() || !tokens.empty()) add(block, text, tokens);
    return;
  }
  if (held_block_ != block) drop_held();
  held_block_ = block;
  held_ += text;
  held_tokens_.insert(held_tokens_.end(), tokens.begin(), tokens.end());
  if (is_blank(held_)) return;
  close_block(false);
  begin_block(block);
  add(block, std::exchange(held_, {}), std::exchange(held_tokens_, {}));
}

void BlockEncoder::begin_block(Block block) {
  any_ = true;
  open_ = block;
  open(block);
}

void BlockEncoder::close_block(bool cut) {
  if (open_ != Block::none) close(std::exchange(open_, Block::none), cut);
}

void BlockEncoder::finish(const Finished& end) {
  const bool cut = end.reason == engine::FinishReason::length;
  if (!any_) {
    begin_block(Block::text);
    if (held_block_ == Block::text && !held_.empty()) add(Block::text, held_, held_tokens_);
  }
  close_block(cut);
  finished(end);
}

}  // namespace hearth::services
