// The one neutral request: what every protocol parses its JSON to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "text/chat_template.h"

namespace hearth::services {

/// Sampling fields as the client sent them; unset ones fall back to server flag, model, built-in.
struct SamplingFields {
  std::optional<float> temperature, top_p, min_p;
  std::optional<int> top_k;
  std::optional<float> xtc_probability, xtc_threshold;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int> repetition_context_size, presence_context_size, frequency_context_size;
  std::map<text::TokenId, float> logit_bias;
  std::optional<std::uint64_t> seed;
  std::optional<int> max_tokens;
};

struct Request {
  /// A conversation for the template, text to go on from, or ready token ids.
  std::variant<text::Conversation, std::string, std::vector<text::TokenId>> input;
  SamplingFields sampling;
  std::vector<std::string> stop;   // empty strings already dropped
  int top_logprobs = -1;           // -1: none
  bool stream = false;
  std::optional<bool> include_usage;  // stream_options.include_usage
};

/// Server flags that stand between the request and the model's own defaults.
struct ServerDefaults {
  std::optional<float> temperature, top_p;
  std::optional<int> top_k, max_tokens;
  std::optional<bool> thinking;
};

}  // namespace hearth::services
