// The pipeline's state machine: what the head of the text not yet settled is, channel by channel.
#include <algorithm>

#include "services/chat/pipeline.h"
#include "services/chat/pipeline_kinds.h"
#include "text/dialect/dialects.h"

namespace hearth::services {
namespace {

using text::Ending;

constexpr std::size_t longest_header = 512;
constexpr std::size_t always_scanned = 256;  // so that what is no call shows early

}  // namespace

void OutputPipeline::advance(Ending ending, Events& events) {
  bool more = true;
  while (more && !stopped_) {
    switch (channel_) {
      case Channel::content:
        more = in_content(ending, events);
        break;
      case Channel::aside:
        more = in_aside(ending, events);
        break;
      case Channel::reasoning:
        more = in_reasoning(ending, events);
        break;
      case Channel::header:
        more = in_header(ending, events);
        break;
      case Channel::call:
        more = in_call(ending, events);
        break;
    }
  }
}

bool OutputPipeline::in_content(Ending ending, Events& events) {
  if (gap_ != Gap::none) {
    if (!after_gap(ending, events)) return false;
    if (channel_ != Channel::content || gap_ != Gap::none) return true;
  }
  const auto match = in_content_.first(held_);
  const auto back = ending == Ending::open ? in_content_.held_back(held_) : 0;
  say(match ? match->begin : held_.size() - back, false, events);
  if (!match) return false;
  const auto size = match->end - match->begin;
  if (match->kind == kinds::open_think && mentions_.next()) {
    say(size, false, events);
  } else {
    take_marker(match->kind, 0, size, events);
  }
  return true;
}

/// White space after a marker or at the start goes with the marker that follows it; else it is
/// text, but for that after reasoning.
bool OutputPipeline::after_gap(Ending ending, Events& events) {
  if (gap_ == Gap::call && !after_tails(ending)) return false;
  if (gap_ == Gap::reasoning) drop(kinds::leading_space(held_), false);
  const auto space = kinds::leading_space(held_);
  const auto rest = std::string_view(held_).substr(space);
  if (stops_in_gap(space)) {
    gap_ = Gap::none;
    return true;
  }
  if (rest.empty()) {
    if (ending == Ending::open) return false;
    if (gap_ == Gap::call) drop(space, false);
    gap_ = Gap::none;
    return !held_.empty();
  }
  const auto match = in_content_.at_start(rest);
  if (match && match->kind != kinds::stop) {
    take_marker(match->kind, space, match->end, events);
    return true;
  }
  if (ending == Ending::open && in_content_.may_start(rest)) return false;
  if (takes_first_opening(space)) return true;
  gap_ = Gap::none;
  return true;
}

bool OutputPipeline::stops_in_gap(std::size_t space) const {
  if (gap_ != Gap::start) return false;
  const auto match = in_content_.first(held_);
  return match && match->kind == kinds::stop && match->begin < space;
}

/// What may follow a call and belongs to it.
bool OutputPipeline::after_tails(Ending ending) {
  if (!format_.dialect) return true;
  for (;;) {
    const auto space = kinds::leading_space(held_);
    const auto rest = std::string_view(held_).substr(space);
    std::size_t taken = 0;
    for (const auto tail : format_.dialect->tails) {
      if (rest.starts_with(tail)) taken = tail.size();
      if (ending == Ending::open && !rest.empty() && rest.size() < tail.size() &&
          tail.starts_with(rest)) {
        return false;
      }
    }
    if (taken == 0) return true;
    drop(space + taken, false);
  }
}

bool OutputPipeline::takes_first_opening(std::size_t space) {
  if (!format_.dialect) return false;
  const auto rest = std::string_view(held_).substr(space);
  for (const auto opening : format_.dialect->first_openings) {
    if (!rest.starts_with(opening)) continue;
    open_call(space, opening.size());
    guessed_ = true;
    return true;
  }
  return false;
}

bool OutputPipeline::in_reasoning(Ending ending, Events& events) {
  if (reasoning_starts_ && !after_reasoning_start(ending)) return false;
  const auto match = in_reasoning_.first(held_);
  const auto back = ending == Ending::open ? in_reasoning_.held_back(held_) : 0;
  auto free = match ? match->begin : held_.size() - back;
  const bool closes = match && match->kind != kinds::open_call;
  if (closes || ending == Ending::open) {
    free = kinds::trimmed_size(std::string_view(held_).substr(0, free));
  }
  say(free, true, events);
  if (!match) return false;
  take_marker(match->kind, match->begin - free, match->end - match->begin, events);
  return true;
}

/// White space and a second opening at the start of the channel are not its text.
bool OutputPipeline::after_reasoning_start(Ending ending) {
  if (names_channel_ && !after_channel_name(ending)) return false;
  const auto open = format_.reasoning->open;
  for (;;) {
    drop(kinds::leading_space(held_), true);
    if (held_.empty()) return false;
    if (format_.reasoning->channels || !held_.starts_with(open)) break;
    drop(open.size(), true);
  }
  if (ending == Ending::open && !format_.reasoning->channels && open.starts_with(held_)) {
    return false;
  }
  reasoning_starts_ = false;
  return true;
}

bool OutputPipeline::after_channel_name(Ending ending) {
  const auto line = std::string_view(held_).substr(0, held_.find('\n'));
  if (kinds::is_channel_name(line)) {
    const bool whole = line.size() < held_.size();
    if (!whole && ending == Ending::open) return false;
    drop(line.size() + (whole ? 1 : 0), true);
  }
  names_channel_ = false;
  return true;
}

/// gpt-oss: the header of a message names its channel, or the function it calls.
bool OutputPipeline::in_header(Ending ending, Events& events) {
  const auto end = held_.find(text::Harmony::message);
  if (end == held_.npos) {
    if (ending == Ending::open && held_.size() < longest_header) return false;
    channel_ = outer_;
    gap_ = Gap::none;
    reasoning_starts_ = false;
    say(opening_, outer_ == Channel::reasoning, events);
    return true;
  }
  const auto header = std::string_view(held_).substr(0, end);
  const auto size = end + text::Harmony::message.size();
  channel_ = Channel::content;
  if (format_.dialect && !text::harmony_recipient(header).empty()) {
    open_call(0, size);
    return true;
  }
  const bool reasoning = header.find("analysis") != header.npos;
  drop(size, reasoning);
  gap_ = Gap::none;
  if (reasoning) open_reasoning();
  return true;
}

bool OutputPipeline::in_call(Ending ending, Events& events) {
  if (!worth_scanning(ending)) return false;
  auto scan = format_.dialect->scan(std::string_view(held_).substr(space_), format_.tools, ending);
  if (scan.kind == text::Scan::Kind::more && ending == Ending::open) return false;
  if (scan.kind == text::Scan::Kind::calls) {
    tell_calls(std::move(scan), events);
    return true;
  }
  if (!guessed_) ++broken_calls_;
  channel_ = outer_;
  gap_ = Gap::none;
  reasoning_starts_ = false;
  say(space_ + opening_, outer_ == Channel::reasoning, events);
  return true;
}

bool OutputPipeline::worth_scanning(Ending ending) const {
  return ending != Ending::open || held_.size() - space_ <= always_scanned ||
         std::ranges::any_of(format_.dialect->closings, [this](auto closing) {
           return held_.find(closing, space_ + opening_) != held_.npos;
         });
}

}  // namespace hearth::services
