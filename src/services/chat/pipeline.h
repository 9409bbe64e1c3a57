// From token ids to events: detokenise, then reasoning, tool calls and stop strings in one state
// machine with one hold-back. Knows nothing of threads or engines, so its tests feed it scripted
// tokens.
//
// White space next to a marker belongs to it. A marker that is one special token of the vocabulary
// counts as that token only; text that spells it is text. Reasoning that opens after visible text
// is told once it is closed: an opening that never is, or is only spoken of, is text.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/token_stream.h"
#include "services/chat/event.h"
#include "services/chat/mention.h"
#include "services/chat/output_format.h"
#include "services/chat/patterns.h"
#include "services/chat/token_ledger.h"
#include "text/detokenizer.h"

namespace hearth::services {

class OutputPipeline {
 public:
  /// @param stop  matched in content, not in reasoning or calls; none of them empty
  /// @param tell_tokens  events carry the tokens of their text, for log-probabilities
  OutputPipeline(std::shared_ptr<const text::Tokenizer> tokenizer,
                 const std::vector<std::string>& stop, bool tell_tokens, OutputFormat format = {});

  /// Takes what the engine sent next; appends to `events`, joined to the text before it if they end
  /// in text of the same kind. Tokens after the end are ignored.
  void push(const engine::StreamItem& item, std::vector<Event>& events);

  /// A stop string has matched or the only call is told: the row should be cancelled; its Finish is
  /// still to be pushed.
  bool stopped() const { return stopped_; }
  bool finished() const { return finished_; }

 private:
  using Events = std::vector<Event>;
  enum class Channel { content, aside, reasoning, header, call };
  /// What white space at the cursor follows; it is held until what comes next is known.
  enum class Gap { none, start, reasoning, call };

  void find_controls(const std::vector<std::string_view>& markers);
  void add_patterns();
  void add_pattern(std::string_view text, int kind);
  void token(const engine::Sampled& token, Events& events);
  void finish(engine::Finish finish, Events& events);
  void finish_character();
  void control(std::string_view marker, Events& events);
  void flush(Events& events);
  int kind_of_control(std::string_view marker) const;

  // Each reads the head of held_ in its channel; true: it got on, and there may be more to read.
  void advance(text::Ending ending, Events& events);
  bool in_content(text::Ending ending, Events& events);
  bool in_aside(text::Ending ending, Events& events);
  bool in_reasoning(text::Ending ending, Events& events);
  bool in_header(text::Ending ending, Events& events);
  bool in_call(text::Ending ending, Events& events);

  // These tell whether what stands at the head is settled, and `advance` can go on.
  bool after_gap(text::Ending ending, Events& events);
  bool after_tails(text::Ending ending);
  bool after_channel_name(text::Ending ending);
  bool after_reasoning_start(text::Ending ending);

  bool stops_in_gap(std::size_t space) const;
  bool takes_first_opening(std::size_t space);
  void take_marker(int kind, std::size_t space, std::size_t marker, Events& events);
  bool is_control(std::string_view marker) const;
  std::size_t aside_end() const;
  std::size_t call_in_aside() const;
  void open_aside(std::size_t opening);
  void aside_is_text(Events& events);
  void open_reasoning();
  void open_call(std::size_t space, std::size_t opening);
  void tell_calls(text::Scan scan, Events& events);
  bool worth_scanning(text::Ending ending) const;

  void say(std::size_t bytes, bool reasoning, Events& events);
  void drop(std::size_t bytes, bool reasoning);
  std::string unused_id(std::string given);

  const OutputFormat format_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  text::Detokenizer detokenizer_;
  std::map<text::TokenId, std::string> controls_;   // special tokens that are markers
  std::map<text::TokenId, std::string> fragments_;  // special tokens inside markers: read as text
  Patterns in_content_, in_reasoning_;

  Channel channel_ = Channel::content;
  Channel outer_ = Channel::content;  // of a call or header: where it stands
  Gap gap_ = Gap::none;
  bool reasoning_starts_ = false;  // none of the channel's text is out yet
  bool names_channel_ = false;     // the channel's name comes first
  std::size_t space_ = 0;          // bytes of white space at the head of held_, before a call
  std::size_t opening_ = 0;        // bytes of the opening that follows
  std::size_t aside_end_ = 0;      // where an aside's closing token stands in held_; 0: nowhere yet
  std::string held_;               // text not yet settled
  TokenLedger ledger_;
  Mentions mentions_;          // after the content that was told
  std::set<std::string> ids_;  // of calls told
  std::string stop_sequence_;
  bool guessed_ = false;         // the call that is open has no marker of its own
  int broken_calls_ = 0;         // begun with a marker, and no calls
  bool half_character_ = false;  // the last token brought no text
  bool stopped_ = false, finished_ = false;
};

}  // namespace hearth::services
