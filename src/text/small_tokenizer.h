// For tests: a vocabulary of bytes, a few longer tokens, a marker and an end.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "text/grammar.h"
#include "text/tokenizer.h"

namespace hearth::text::testing {

/// Ids 0 to 255 are bytes, then a few longer tokens, a marker and an end.
class SmallTokenizer : public Tokenizer {
 public:
  SmallTokenizer() {
    for (int byte = 0; byte < 256; ++byte) pieces_.push_back(fmt::format("<0x{:02X}>", byte));
    for (const char* text :
         {"ab", "abc", "ca", "\"a", "\":", "{\"", "true", "null", "12", "\n\n"}) {
      pieces_.push_back(text);
    }
    marker_ = int(pieces_.size());
    pieces_.push_back("<tool>");
    pieces_.push_back("<end>");
  }
  TokenId marker() const { return marker_; }
  TokenId end() const { return marker_ + 1; }

  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions) const override {
    std::vector<TokenId> ids;
    for (const unsigned char byte : text) ids.push_back(byte);
    return ids;
  }
  std::string decode(std::span<const TokenId>, bool) const override { return {}; }
  std::string piece(TokenId id) const override {
    return id < int(pieces_.size()) ? pieces_[id] : "";
  }
  std::optional<TokenId> id_of(std::string_view) const override { return {}; }
  int vocab_size() const override { return int(pieces_.size()); }
  bool is_marker(TokenId id) const override { return id >= marker_; }
  bool is_special(TokenId id) const override { return id >= marker_; }
  Spelling spelling() const override { return Spelling::byte_fallback; }
  const std::string& bos_text() const override { return empty_; }
  const std::string& eos_text() const override { return empty_; }
  std::optional<TokenId> bos_id() const override { return {}; }
  const std::set<TokenId>& stop_ids() const override { return stops_; }

 private:
  std::vector<std::string> pieces_;
  int marker_ = 0;
  std::string empty_;
  std::set<TokenId> stops_;
};

inline std::shared_ptr<const Grammars> small_grammars(const SmallTokenizer& tokenizer) {
  return *Grammars::make(tokenizer, {tokenizer.end()}, tokenizer.vocab_size());
}

/// Whether the grammar takes the text, byte by byte, and may end after it.
inline bool takes(Matcher matcher, std::string_view text) {
  for (const unsigned char byte : text) {
    if (!matcher.accept(byte)) return false;
  }
  const auto end = matcher.may_end();
  return end && *end;
}

}  // namespace hearth::text::testing
