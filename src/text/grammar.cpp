#include "text/grammar.h"

#include <utility>

#include "text/bridge.h"
#include "text/token_bytes.h"

namespace hearth::text {
namespace {

constexpr std::size_t kept_grammars = 32;
constexpr char control_mark = '\xff';  // begins the bytes of tokens that are no text

tb_grammar_kind bridge_kind(GrammarKind kind) {
  switch (kind) {
    case GrammarKind::lark:
      return TB_LARK;
    case GrammarKind::regex:
      return TB_REGEX;
    default:
      return TB_JSON_SCHEMA;
  }
}

}  // namespace

void Matcher::Free::operator()(tb_matcher* matcher) const { tb_matcher_free(matcher); }

Result<void> Matcher::mask(std::span<std::uint32_t> words) {
  tb_bytes told{};
  const auto status = tb_matcher_mask(handle_.get(), words.data(), words.size(), &told);
  if (status != TB_OK) return fail(bridge_error(status, told, ErrorCode::internal));
  return {};
}

Result<void> Matcher::accept(TokenId id) {
  tb_bytes told{};
  const auto status = tb_matcher_accept(handle_.get(), std::uint32_t(id), &told);
  if (status != TB_OK) return fail(bridge_error(status, told, ErrorCode::internal));
  return {};
}

Result<bool> Matcher::may_end() {
  tb_bytes told{};
  bool may = false;
  const auto status = tb_matcher_may_end(handle_.get(), &may, &told);
  if (status != TB_OK) return fail(bridge_error(status, told, ErrorCode::internal));
  return may;
}

bool Matcher::complete() const { return tb_matcher_complete(handle_.get()); }

Result<Matcher> Matcher::copy() const {
  tb_bytes told{};
  tb_matcher* made = nullptr;
  const auto status = tb_matcher_copy(handle_.get(), &made, &told);
  if (status != TB_OK) return fail(bridge_error(status, told, ErrorCode::internal));
  return Matcher(made);
}

void Grammars::Free::operator()(tb_vocabulary* vocabulary) const { tb_vocabulary_free(vocabulary); }

Result<std::shared_ptr<const Grammars>> Grammars::make(const Tokenizer& tokenizer,
                                                       const std::set<TokenId>& end_ids,
                                                       int vocab_size) {
  auto made = std::make_shared<Grammars>();
  std::string pieces;
  std::vector<std::uint32_t> ends;
  for (TokenId id = 0; id < vocab_size; ++id) {
    made->bytes_.push_back(token_bytes(tokenizer, id));
    const bool control = tokenizer.is_marker(id) || end_ids.contains(id);
    if (control && !made->bytes_.back().empty()) pieces += control_mark;
    pieces += made->bytes_.back();
    ends.push_back(std::uint32_t(pieces.size()));
  }
  std::vector<std::uint32_t> stops;
  for (const TokenId id : end_ids) {
    if (id >= 0 && id < vocab_size) stops.push_back(std::uint32_t(id));
  }
  made->end_ids_ = {stops.begin(), stops.end()};
  tb_vocabulary* handle = nullptr;
  tb_bytes told{};
  const auto status = tb_vocabulary_new(bytes_of(pieces), ends.data(), ends.size(), stops.data(),
                                        stops.size(), &handle, &told);
  if (status != TB_OK) return fail(bridge_error(status, told, ErrorCode::unsupported));
  made->handle_.reset(handle);
  return made;
}

Result<Matcher> Grammars::compile(GrammarKind kind, std::string_view grammar) const {
  tb_matcher* made = nullptr;
  tb_bytes told{};
  const auto status = tb_matcher_new(handle_.get(), bridge_kind(kind), bytes_of(grammar),
                                     grammar.size(), &made, &told);
  if (status != TB_OK) return fail(bridge_error(status, told, ErrorCode::invalid_schema));
  return Matcher(made);
}

Result<Matcher> Grammars::matcher(GrammarKind kind, std::string_view grammar) const {
  {
    const std::scoped_lock lock(mutex_);
    for (auto it = compiled_.begin(); it != compiled_.end(); ++it) {
      if (it->kind != kind || it->grammar != grammar) continue;
      compiled_.splice(compiled_.begin(), compiled_, it);
      return it->fresh.copy();
    }
  }
  auto fresh = compile(kind, grammar);
  if (!fresh) return fresh;
  auto copy = fresh->copy();
  const std::scoped_lock lock(mutex_);
  compiled_.push_front({kind, std::string(grammar), std::move(*fresh)});
  if (compiled_.size() > kept_grammars) compiled_.pop_back();
  return copy;
}

const std::string& Grammars::bytes(TokenId id) const {
  static const std::string none;
  return id >= 0 && id < int(bytes_.size()) ? bytes_[id] : none;
}

Result<std::shared_ptr<const Grammars>> LazyGrammars::get(const Make& make) {
  const std::scoped_lock lock(mutex_);
  if (made_) return made_;
  auto made = make();
  if (made) made_ = *made;
  return made;
}

}  // namespace hearth::text
