// The one event stream that every protocol encodes.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/token_stream.h"

namespace hearth::services {

/// One generated token with its log-probability; only when the request asked for them.
struct TokenInfo {
  engine::TokenLogprob token;
  std::vector<engine::TokenLogprob> top;
};

/// The engine's figures, and what the pipeline counts.
struct Usage : engine::Usage {
  int reasoning_tokens = 0;  // of completion_tokens, those of the reasoning channel and its markers
  int decoded_tokens = 0;    // of completion_tokens, those after the first of each choice
  double first_token_seconds = 0;  // from the request's arrival; 0 when no token came
};

struct TextDelta {
  std::string text;               // whole UTF-8 characters; may be empty when only tokens are told
  std::vector<TokenInfo> tokens;  // whose text this is, in order
};

/// Text of the reasoning channel, without its markers.
struct ReasoningDelta {
  std::string text;  // as TextDelta
  std::vector<TokenInfo> tokens;
};

/// A call, told once it is whole and sound: one that is cut off or broken is told as text.
struct ToolCall {
  int index = 0;          // from 0 in each choice
  std::string id;         // "call_" and 24 letters and digits, unless the model gave its own
  std::string name;       // one of the request's tools
  std::string arguments;  // text of a JSON object
  std::vector<TokenInfo> tokens;
};

struct Finished {
  engine::FinishReason reason = engine::FinishReason::stop;
  std::string stop_sequence;  // the stop string that matched; empty when none
  int tool_calls = 0;         // told in this choice
  int broken_calls = 0;       // calls that were begun and became text
  Usage usage;
  std::optional<Error> error;
};

using Event = std::variant<TextDelta, ReasoningDelta, ToolCall, Finished>;

}  // namespace hearth::services
