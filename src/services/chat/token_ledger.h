// Which token's text has left the pipeline, and in which channel: for log-probabilities and for the
// count of reasoning tokens.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "services/chat/event.h"

namespace hearth::services {

class TokenLedger {
 public:
  /// @param tell  tokens are kept until they are taken; else only counted
  explicit TokenLedger(bool tell) : tell_(tell) {}

  /// The next token, and how many bytes of text it brought.
  void add(TokenInfo info, std::size_t bytes);

  /// More text of the tokens so far.
  void extend(std::size_t bytes) { added_ += bytes; }

  /// The next `bytes` of text are done with: told, or markers.
  void settle(std::size_t bytes, bool reasoning);

  /// Tokens whose text is done with, those told before left out.
  std::vector<TokenInfo> take();
  /// Those of which any text is.
  std::vector<TokenInfo> take_begun();
  /// All that are left. @param reasoning  the channel that is open
  std::vector<TokenInfo> take_all(bool reasoning);

  int tokens() const { return tokens_; }
  int reasoning_tokens() const { return reasoning_tokens_; }

 private:
  struct Waiting {
    TokenInfo info;
    std::size_t begin, end;
  };
  template <class Done>
  std::vector<TokenInfo> take_while(Done done);

  const bool tell_;
  std::deque<Waiting> waiting_;  // not yet taken
  std::size_t counted_ = 0;      // of waiting_, those whose channel is known
  std::size_t added_ = 0;        // bytes
  std::size_t settled_ = 0;      // bytes
  int tokens_ = 0, reasoning_tokens_ = 0;
};

}  // namespace hearth::services
