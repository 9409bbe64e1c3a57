#include "text/detokenizer.h"

#include <utility>
#include <vector>

#include "text/decoding.h"
#include "text/utf8.h"

namespace hearth::text {

/// Where a decoder cannot stream: decodes a short window again and tells what grew.
class DecodeWindow {
 public:
  std::string push(const Tokenizer& tokenizer, TokenId id, bool skip_special) {
    ids_.push_back(id);
    const std::string before = decode(tokenizer, told_, skip_special);
    const std::string after = decode(tokenizer, ids_.size(), skip_special);
    if (after.size() <= before.size() || after.ends_with(replacement_character)) return {};
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(told_));
    told_ = ids_.size();
    return after.substr(before.size());
  }
  std::string finish(const Tokenizer& tokenizer, bool skip_special) {
    const std::string before = decode(tokenizer, told_, skip_special);
    std::string after = decode(tokenizer, ids_.size(), skip_special);
    ids_.clear();
    told_ = 0;
    return after.size() > before.size() ? after.substr(before.size()) : std::string();
  }

 private:
  std::string decode(const Tokenizer& tokenizer, std::size_t count, bool skip_special) const {
    return tokenizer.decode(std::span(ids_).first(count), skip_special);
  }
  std::vector<TokenId> ids_;  // those told last, as context, then those still held
  std::size_t told_ = 0;
};

struct Detokenizer::State {
  std::shared_ptr<const Tokenizer> tokenizer;
  bool skip_special;
  std::unique_ptr<DecodeChain> chain;  // null: through the window
  DecodeWindow window;

  std::string push(TokenId id) {
    if (skip_special && tokenizer->is_special(id)) return {};
    if (!chain) return window.push(*tokenizer, id, skip_special);
    const std::string piece = tokenizer->piece(id);
    return piece.empty() ? std::string() : chain->push(piece);
  }
};

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : state_(std::make_unique<State>()) {
  const DecodePlan* plan = tokenizer->decode_plan();
  state_->tokenizer = std::move(tokenizer);
  state_->skip_special = skip_special;
  if (plan) state_->chain = plan->chain();
}

Detokenizer::~Detokenizer() = default;
Detokenizer::Detokenizer(Detokenizer&&) noexcept = default;
Detokenizer& Detokenizer::operator=(Detokenizer&&) noexcept = default;

std::string Detokenizer::push(TokenId id) { return state_->push(id); }

std::string Detokenizer::finish() {
  if (state_->chain) return state_->chain->finish();
  return state_->window.finish(*state_->tokenizer, state_->skip_special);
}

}  // namespace hearth::text
