// The one event stream that every protocol encodes.
#pragma once

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

struct TextDelta {
  std::string text;               // whole UTF-8 characters; may be empty when only tokens are told
  std::vector<TokenInfo> tokens;  // whose text this is, in order
};

struct Finished {
  engine::FinishReason reason = engine::FinishReason::stop;
  std::string stop_sequence;  // the stop string that matched; empty when none
  engine::Usage usage;
  std::optional<Error> error;
};

using Event = std::variant<TextDelta, Finished>;

}  // namespace hearth::services
