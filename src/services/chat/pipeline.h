// From token ids to text events: detokenise, then stop strings. What either holds back stays here.
// Knows nothing of threads or engines, so its tests feed it scripted tokens.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/token_stream.h"
#include "services/chat/event.h"
#include "services/chat/stop_strings.h"
#include "text/detokenizer.h"

namespace hearth::services {

class OutputPipeline {
 public:
  /// @param tell_tokens  events carry the tokens of their text, for log-probabilities
  OutputPipeline(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> stop,
                 bool tell_tokens);

  /// Takes what the engine sent next; appends to `events`, joined to the text before it if they end
  /// in text. Tokens after a stop string are ignored.
  void push(const engine::StreamItem& item, std::vector<Event>& events);

  /// A stop string has matched: the row should be cancelled; its Finish is still to be pushed.
  bool stopped() const { return stop_.matched().has_value(); }
  bool finished() const { return finished_; }

 private:
  struct Waiting {
    TokenInfo info;
    std::size_t begin, end;  // where its text stands, in bytes
  };

  void token(const engine::Sampled& token, std::vector<Event>& events);
  void finish(engine::Finish finish, std::vector<Event>& events);
  void emit(std::string text, bool all_tokens, std::vector<Event>& events);

  text::Detokenizer detokenizer_;
  StopStrings stop_;
  const bool tell_tokens_;
  std::deque<Waiting> waiting_;  // tokens whose text is not yet out
  std::size_t decoded_ = 0;      // bytes of text from the detokenizer
  std::size_t emitted_ = 0;      // bytes of text in events
  int tokens_ = 0;
  bool finished_ = false;
};

}  // namespace hearth::services
