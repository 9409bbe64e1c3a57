// What the OpenAI wires share: error bodies, usage, finish reasons, log-probabilities, ids, frames.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "services/chat/event.h"
#include "text/tokenizer.h"

namespace hearth::services {

/// {"error":{"message","type","param","code"}}
Json openai_error(const Error& error);

Json openai_usage(const Usage& usage);

/// "stop" or "length".
std::string_view openai_finish_reason(engine::FinishReason reason);

/// Null for NaN: that of a prompt's first token.
Json logprob_value(float logprob);

/// Entries of logprobs.content, one a token:
/// {id, token, piece, bytes, logprob, top_logprobs: [{id, token, piece, bytes, logprob}]}
Json logprob_entries(const std::vector<TokenInfo>& tokens, const text::Tokenizer& tokenizer);

/// "data: <json>\n\n"
std::string sse_data(const Json& json);

inline constexpr std::string_view sse_done = "data: [DONE]\n\n";
inline constexpr std::string_view sse_keep_alive = ": keep-alive\n\n";

/// JSON text; whatever is not UTF-8 becomes U+FFFD.
std::string dump(const Json& json);

/// A random version 4 UUID.
std::string new_uuid();

}  // namespace hearth::services
