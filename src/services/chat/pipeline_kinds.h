// What the pipeline's patterns stand for; shared by its two files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace hearth::services::kinds {

enum Kind {
  stop,         // a stop string
  open_think,   // <think>
  close_think,  // </think>
  open_call,    // <tool_call>
  header,       // <|channel|>: the header of a message, up to <|message|>
  message_end,  // <|end|>
  nothing,      // a special token that means nothing where it stands
};

/// Gemma 4 names a channel of reasoning on its first line.
inline bool is_channel_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return text.size() <= 32 && std::ranges::all_of(text, fits);
}

inline std::size_t leading_space(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? text.size() : first;
}

/// Size of `text` without the white space at its end.
inline std::size_t trimmed_size(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  return last == text.npos ? 0 : last + 1;
}

}  // namespace hearth::services::kinds
