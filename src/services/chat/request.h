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

/// A conversation for the template, text to go on from, or ready token ids.
using Input = std::variant<text::Conversation, std::string, std::vector<text::TokenId>>;

/// How a text completion tells log-probabilities: as chat does, or OpenAI's old parallel lists.
enum class LogprobsShape { entries, legacy };

/// Which tools the answer may or must call; the tools themselves are the conversation's.
struct ToolChoice {
  enum class Mode { none, automatic, required };
  Mode mode = Mode::automatic;
  std::vector<std::string> names;  // only these may be called; empty: any of the tools
  bool parallel = true;            // false: generation ends after the first call
};

/// What the answer's text must be.
struct Constraint {
  enum class Kind { json_object, json_schema, grammar, regex, choice };
  Kind kind = Kind::json_object;
  Json schema;                       // json_schema
  std::string text;                  // grammar (EBNF or Lark, rule `root` or `start`), regex
  std::vector<std::string> choices;  // choice
  bool strict = false;               // what cannot be held is a 400 instead of a warning
  bool any_whitespace = true;        // false: compact separators
  std::string param;                 // where it stands in the body, for errors
};

struct Request {
  Input input;
  std::vector<Input> more_inputs;  // further prompts of one completion request
  int n = 1;                       // answers to each prompt
  SamplingFields sampling;
  std::vector<std::string> stop;  // empty strings already dropped
  int top_logprobs = -1;          // -1: none
  LogprobsShape logprobs_shape = LogprobsShape::entries;
  bool echo = false;  // the prompt's text opens each answer, with its tokens if they are told
  bool stream = false;
  std::optional<bool> include_usage;  // stream_options.include_usage
  std::string service_tier;           // sent back; empty when the request named none
  ToolChoice tool_choice;
  std::optional<Constraint> constraint;
  std::optional<int> thinking_budget;  // most reasoning tokens; the channel is closed after them
  std::string session;                 // whose blocks stay a little longer in the prompt cache
  Json reply_fields;  // of the body, what the protocol's own encoder says again; else null

  int choices() const { return n * int(1 + more_inputs.size()); }
};

/// Server flags that stand between the request and the model's own defaults.
struct ServerDefaults {
  std::optional<float> temperature, top_p;
  std::optional<int> top_k, max_tokens;
  std::optional<bool> thinking;
  bool sessions = true;  // false (HEARTH_SESSION_CACHE=0): Request::session stays empty
  bool grammars = true;  // false (HEARTH_GRAMMAR=0): constraints are told, not held
};

}  // namespace hearth::services
