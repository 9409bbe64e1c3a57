// Reasoning that opens after visible text. It may be an opening that the model only happened to
// write, and then what follows is the answer: so its text waits until it is closed.
#include <algorithm>

#include "services/chat/pipeline.h"
#include "services/chat/pipeline_kinds.h"

namespace hearth::services {
namespace {

constexpr std::size_t longest_aside = 8192;  // bytes of it, with its opening

/// Bytes before the words: the channel's name, where it has one, and white space.
std::size_t preamble(std::string_view inside, bool named) {
  const auto line = inside.substr(0, inside.find('\n'));
  const auto name = named && kinds::is_channel_name(line) ? line.size() : 0;
  return name + kinds::leading_space(inside.substr(name));
}

}  // namespace

void OutputPipeline::open_aside(std::size_t opening) {
  channel_ = Channel::aside;
  opening_ = opening;
  aside_end_ = 0;
}

/// Where the closing stands; npos when it is not there.
std::size_t OutputPipeline::aside_end() const {
  const auto close = format_.reasoning->close;
  if (is_control(close)) return aside_end_ > 0 ? aside_end_ : held_.npos;
  return held_.find(close, opening_);
}

/// Where the text opens a call; npos when it does not.
std::size_t OutputPipeline::call_in_aside() const {
  std::size_t first = held_.npos;
  if (!format_.dialect) return first;
  for (const auto opening : format_.dialect->openings) {
    if (!is_control(opening)) first = std::min(first, held_.find(opening, opening_));
  }
  return first;
}

void OutputPipeline::aside_is_text(Events& events) {
  channel_ = Channel::content;
  say(opening_, false, events);
}

bool OutputPipeline::in_aside(text::Ending ending, Events& events) {
  const auto close = format_.reasoning->close.size();
  const auto end = aside_end();
  const bool closed = end < call_in_aside() && end <= longest_aside;
  if (!closed) {
    const bool may_close = ending == text::Ending::open && end == held_.npos &&
                           call_in_aside() == held_.npos && held_.size() < longest_aside + close;
    if (!may_close) aside_is_text(events);
    return !may_close;
  }
  const auto inside = std::string_view(held_).substr(opening_, end - opening_);
  const auto space = preamble(inside, format_.reasoning->named);
  const auto words = kinds::trimmed_size(inside.substr(space));
  drop(opening_ + space, true);
  say(words, true, events);
  drop(end - opening_ - space - words + close, true);
  channel_ = Channel::content;
  gap_ = Gap::reasoning;
  return true;
}

}  // namespace hearth::services
