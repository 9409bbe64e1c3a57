// The sampling options, declared once: JSON bodies are read off this table, and so are flags and
// the reference page.
#pragma once

#include <limits>
#include <string_view>
#include <tuple>

#include "base/json.h"
#include "base/result.h"
#include "services/chat/request.h"

namespace hearth::services {

template <class T>
struct Option {
  std::string_view name;
  std::optional<T> SamplingFields::*field;
  double least, most;
  std::string_view help;
};

inline constexpr double unbounded = std::numeric_limits<double>::infinity();

inline constexpr std::tuple sampling_options{
    Option<float>{"temperature", &SamplingFields::temperature, 0, unbounded,
                  "0 picks the likeliest token"},
    Option<float>{"top_p", &SamplingFields::top_p, 0, 1,
                  "keeps the likeliest tokens whose probabilities sum to this; 0 or 1 keeps all"},
    Option<int>{"top_k", &SamplingFields::top_k, 0, 1 << 20, "candidates kept; 0 keeps all"},
    Option<float>{"min_p", &SamplingFields::min_p, 0, 1,
                  "keeps tokens at least this likely in proportion to the likeliest"},
    Option<float>{"xtc_probability", &SamplingFields::xtc_probability, 0, 1,
                  "chance of leaving out the likeliest tokens"},
    Option<float>{"xtc_threshold", &SamplingFields::xtc_threshold, 0, 0.5,
                  "probability from which a token may be left out"},
    Option<float>{"repetition_penalty", &SamplingFields::repetition_penalty, 0, unbounded,
                  "divides the logits of tokens seen; 0 or 1 is off"},
    Option<int>{"repetition_context_size", &SamplingFields::repetition_context_size, 0, 1 << 30,
                "tokens it looks back; 0 for all"},
    Option<float>{"presence_penalty", &SamplingFields::presence_penalty, -1e6, 1e6,
                  "taken once from the logits of tokens seen"},
    Option<int>{"presence_context_size", &SamplingFields::presence_context_size, 0, 1 << 30,
                "tokens it looks back; 0 for all"},
    Option<float>{"frequency_penalty", &SamplingFields::frequency_penalty, -1e6, 1e6,
                  "taken from a token's logit for each time it was seen"},
    Option<int>{"frequency_context_size", &SamplingFields::frequency_context_size, 0, 1 << 30,
                "tokens it looks back; 0 for all"},
    Option<int>{"max_tokens", &SamplingFields::max_tokens, 1, 2147483647,
                "most tokens to generate"},
};

/// Reads the options above, `max_completion_tokens` (the smaller of it and `max_tokens` holds),
/// `seed` and `logit_bias`. Errors: invalid_request naming field, value and range.
Result<SamplingFields> read_sampling(const Json& body);

/// `stop`: a string or at most 64 of them; empty ones are dropped.
Result<std::vector<std::string>> read_stop(const Json& body);

/// `stream`, `stream_options`, `n` and `service_tier`.
Result<void> read_delivery(const Json& body, Request& request);

/// `logprobs: bool` with `top_logprobs`: -1 when none are asked for.
Result<int> read_logprobs(const Json& body);

/// Fields that ask for what this server does not do. Errors: invalid_request naming the field:
/// better no answer than one that ignores a constraint.
Result<void> refuse_unsupported(const Json& body);

}  // namespace hearth::services
