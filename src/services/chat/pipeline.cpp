#include "services/chat/pipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "services/chat/call_id.h"
#include "services/chat/pipeline_kinds.h"

namespace hearth::services {
namespace {

using text::Ending;
using text::Harmony;

template <class Delta>
void append(std::string text, std::vector<TokenInfo> tokens, std::vector<Event>& events) {
  if (text.empty() && tokens.empty()) return;
  if (events.empty() || !std::holds_alternative<Delta>(events.back())) events.emplace_back(Delta{});
  auto& delta = std::get<Delta>(events.back());
  delta.text += text;
  std::ranges::move(tokens, std::back_inserter(delta.tokens));
}

std::vector<std::string_view> markers_of(const OutputFormat& format) {
  std::vector<std::string_view> markers;
  if (format.dialect) markers = format.dialect->markers;
  const auto* reasoning = format.reasoning;
  if (reasoning && reasoning->channels) {
    const auto& channels = Harmony::markers;
    markers.insert(markers.end(), std::begin(channels), std::end(channels));
  } else if (reasoning) {
    markers.insert(markers.end(), {reasoning->open, reasoning->close});
  }
  return markers;
}

}  // namespace

OutputPipeline::OutputPipeline(std::shared_ptr<const text::Tokenizer> tokenizer,
                               const std::vector<std::string>& stop, bool tell_tokens,
                               OutputFormat format)
    : format_(std::move(format)), tokenizer_(std::move(tokenizer)), detokenizer_(tokenizer_),
      ledger_(tell_tokens) {
  for (const auto& text : stop) in_content_.add(text, kinds::stop);
  find_controls(markers_of(format_));
  add_patterns();
  if (format_.dialect || format_.reasoning) gap_ = Gap::start;
  if (format_.reasoning && format_.starts_in_reasoning) open_reasoning();
}

/// Markers that are special tokens go by their ids, all others by their text.
void OutputPipeline::find_controls(const std::vector<std::string_view>& markers) {
  const auto inside_opening = [&](std::string_view marker) {
    return format_.dialect && std::ranges::any_of(format_.dialect->openings, [&](auto opening) {
             return opening.size() > marker.size() && opening.find(marker) != opening.npos;
           });
  };
  for (const auto marker : markers) {
    const auto id = tokenizer_->id_of(marker);
    if (!id || !tokenizer_->is_special(*id)) continue;
    (inside_opening(marker) ? fragments_ : controls_)[*id] = marker;
  }
}

void OutputPipeline::add_patterns() {
  if (const auto* r = format_.reasoning; r && r->channels) {
    for (const auto text : {Harmony::start, Harmony::channel}) add_pattern(text, kinds::header);
    for (const auto text : {Harmony::end, Harmony::result}) add_pattern(text, kinds::message_end);
  } else if (r) {
    add_pattern(r->open, kinds::open_think);
    add_pattern(r->close, kinds::close_think);
  }
  if (!format_.dialect) return;
  for (const auto text : format_.dialect->openings) add_pattern(text, kinds::open_call);
}

/// In content a stray closing is text; in reasoning a stray opening is.
void OutputPipeline::add_pattern(std::string_view text, int kind) {
  if (is_control(text)) return;
  if (kind != kinds::close_think) in_content_.add(text, kind);
  if (kind != kinds::open_think) in_reasoning_.add(text, kind);
}

bool OutputPipeline::is_control(std::string_view marker) const {
  return std::ranges::any_of(controls_, [&](const auto& c) { return c.second == marker; });
}

void OutputPipeline::push(const engine::StreamItem& item, Events& events) {
  if (finished_) return;
  if (const auto* sampled = std::get_if<engine::Sampled>(&item)) {
    if (!stopped_) token(*sampled, events);
  } else {
    finish(std::get<engine::Finish>(item), events);
  }
}

void OutputPipeline::token(const engine::Sampled& token, Events& events) {
  TokenInfo info{{token.id, token.logprob}, token.top};
  if (const auto marker = controls_.find(token.id); marker != controls_.end()) {
    finish_character();
    ledger_.add(std::move(info), marker->second.size());
    control(marker->second, events);
  } else {
    const auto fragment = fragments_.find(token.id);
    if (fragment != fragments_.end()) finish_character();
    const std::string text =
        fragment != fragments_.end() ? fragment->second : detokenizer_.push(token.id);
    ledger_.add(std::move(info), text.size());
    held_ += text;
    half_character_ = text.empty();
  }
  advance(Ending::open, events);
}

/// What the detokenizer holds stands before what comes now.
void OutputPipeline::finish_character() {
  if (!half_character_) return;
  half_character_ = false;
  const std::string rest = detokenizer_.finish();
  ledger_.extend(rest.size());
  held_ += rest;
}

void OutputPipeline::finish(engine::Finish finish, Events& events) {
  finished_ = true;
  if (!stopped_) {
    half_character_ = true;
    finish_character();
    const bool ended = finish.reason == engine::FinishReason::stop;
    advance(ended ? Ending::ended : Ending::cut, events);
  }
  Finished end{.reason = finish.reason,
               .stop_sequence = stop_sequence_,
               .tool_calls = int(ids_.size()),
               .broken_calls = broken_calls_,
               .usage = {finish.usage},
               .error = std::move(finish.error)};
  if (stopped_) {
    end.reason = engine::FinishReason::stop;
    end.usage.completion_tokens = ledger_.tokens();  // the engine may have been a token ahead
    end.error.reset();
  } else if (channel_ == Channel::reasoning) {
    append<ReasoningDelta>({}, ledger_.take_all(true), events);
  } else {
    append<TextDelta>({}, ledger_.take_all(false), events);
  }
  end.usage.reasoning_tokens = ledger_.reasoning_tokens();
  events.emplace_back(std::move(end));
}

/// A special token that is a marker: nothing that text could begin goes on across it.
void OutputPipeline::control(std::string_view marker, Events& events) {
  flush(events);
  while (channel_ == Channel::aside && kind_of_control(marker) == kinds::open_call) {
    aside_is_text(events);
    flush(events);
  }
  if (stopped_) return;
  if (channel_ == Channel::aside && marker == format_.reasoning->close) aside_end_ = held_.size();
  held_ += marker;
  if (channel_ == Channel::call || channel_ == Channel::header || channel_ == Channel::aside) {
    return;
  }
  take_marker(kind_of_control(marker), held_.size() - marker.size(), marker.size(), events);
}

/// Tells what is held, but for white space that the marker may take.
void OutputPipeline::flush(Events& events) {
  advance(Ending::open, events);
  if (stopped_) return;
  if (channel_ == Channel::reasoning) {
    if (!reasoning_starts_) say(kinds::trimmed_size(held_), true, events);
  } else if (channel_ == Channel::content) {
    if (gap_ == Gap::none || kinds::leading_space(held_) < held_.size()) {
      gap_ = Gap::none;
      say(held_.size(), false, events);
    }
  }
}

int OutputPipeline::kind_of_control(std::string_view marker) const {
  const auto* r = format_.reasoning;
  if (r && r->channels) {
    if (marker == Harmony::start || marker == Harmony::channel) return kinds::header;
    if (marker == Harmony::end || marker == Harmony::result) return kinds::message_end;
    return kinds::nothing;
  }
  const bool reasoning = channel_ == Channel::reasoning;
  if (r && marker == r->open) return reasoning ? kinds::nothing : kinds::open_think;
  if (r && marker == r->close) return reasoning ? kinds::close_think : kinds::nothing;
  const bool opens = format_.dialect && std::ranges::count(format_.dialect->openings, marker) > 0;
  return opens ? kinds::open_call : kinds::nothing;
}

/// The first `bytes` of what is held leave as text of a channel.
void OutputPipeline::say(std::size_t bytes, bool reasoning, Events& events) {
  if (bytes == 0) return;
  std::string text = held_.substr(0, bytes);
  drop(bytes, reasoning);
  if (!reasoning) mentions_.add(text);
  if (reasoning)
    append<ReasoningDelta>(std::move(text), ledger_.take(), events);
  else
    append<TextDelta>(std::move(text), ledger_.take(), events);
}

/// They were markers, and leave unsaid.
void OutputPipeline::drop(std::size_t bytes, bool reasoning) {
  held_.erase(0, bytes);
  ledger_.settle(bytes, reasoning);
}

void OutputPipeline::tell_calls(text::Scan scan, Events& events) {
  drop(space_ + scan.size, false);
  channel_ = Channel::content;
  gap_ = Gap::call;
  if (!format_.parallel) {
    scan.calls.resize(1);
    stopped_ = true;
  }
  auto tokens = stopped_ ? ledger_.take_begun() : ledger_.take();
  for (text::ParsedCall& call : scan.calls) {
    const int index = int(ids_.size());
    std::string id = unused_id(std::move(call.id));
    events.emplace_back(ToolCall{.index = index,
                                 .id = std::move(id),
                                 .name = std::move(call.name),
                                 .arguments = std::move(call.arguments),
                                 .tokens = std::exchange(tokens, {})});
  }
}

/// The model's own id of a call, where it gave one that is not taken; else a new one.
std::string OutputPipeline::unused_id(std::string given) {
  if (given.empty() || ids_.contains(given)) given = new_call_id();
  ids_.insert(given);
  return given;
}

void OutputPipeline::take_marker(int kind, std::size_t space, std::size_t marker, Events& events) {
  const bool reasoning = channel_ == Channel::reasoning;
  switch (kind) {
    case kinds::stop:
      stop_sequence_ = held_.substr(space, marker);
      stopped_ = true;
      return append<TextDelta>({}, ledger_.take_begun(), events);
    case kinds::open_call:
      return open_call(space, marker);
    case kinds::header:
      drop(space, reasoning);
      outer_ = channel_;
      channel_ = Channel::header;
      opening_ = marker;
      return;
    case kinds::open_think:
      if (gap_ == Gap::none) return open_aside(marker);
      drop(space, false);
      drop(marker, true);
      return open_reasoning();
    case kinds::close_think:
    case kinds::message_end:
      drop(space + marker, reasoning);
      if (reasoning) gap_ = Gap::reasoning;
      channel_ = Channel::content;
      return;
    default:
      drop(space + marker, reasoning);
  }
}

void OutputPipeline::open_reasoning() {
  channel_ = Channel::reasoning;
  reasoning_starts_ = true;
  names_channel_ = format_.reasoning->named;
}

void OutputPipeline::open_call(std::size_t space, std::size_t opening) {
  outer_ = channel_;
  channel_ = Channel::call;
  guessed_ = false;
  space_ = space;
  opening_ = opening;
}

}  // namespace hearth::services
