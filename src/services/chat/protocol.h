// What a wire protocol is: how its JSON becomes the neutral request, and how events become its
// frames or its one body. A protocol knows nothing of sampling, caches or threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "services/chat/answer.h"
#include "services/chat/request.h"
#include "text/tokenizer.h"

namespace hearth::services {

/// What every answer says besides its text.
struct ReplyInfo {
  std::string model;                           // id of the model that answers
  std::string fingerprint;                     // "fp_" and 8 hex digits
  std::int64_t created = 0;                    // Unix seconds
  const text::Tokenizer* tokenizer = nullptr;  // outlives the encoder
  int prompt_tokens = 0;                       // of all prompts; some wires open with it
};

/// One answer in the making. Streamed, its frames are sent as they come; otherwise body() is sent
/// after the last event.
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// What goes before the first event. @param echoes  the prompt's text of each choice, if echoed
  virtual std::string begin(const std::vector<std::string>& echoes) = 0;
  virtual std::string frames(const ChoiceEvent& event) = 0;
  /// After the last event.
  virtual std::string end(const Usage& usage) = 0;
  /// In place of end(), when something failed after the stream began.
  virtual std::string error_frame(const Error& error) const = 0;
  /// As error_frame; for wires that tell the tokens used until then.
  virtual std::string failure(const Error& error, const Usage&) const { return error_frame(error); }
  /// Says that the server is still there.
  virtual std::string ping() const = 0;
  /// The whole answer of a request that is not streamed.
  virtual Json body(const Usage& usage) const = 0;
};

struct Protocol {
  std::string_view path;  // "/v1/chat/completions"
  /// @param model  id, for messages about what the model cannot do
  Result<Request> (*parse)(const Json& body, std::string_view model);
  std::unique_ptr<Encoder> (*encoder)(const Request& request, ReplyInfo info);
  Json (*error)(const Error& error);
  std::string_view stream_type = "text/event-stream";
};

extern const Protocol openai_chat;
extern const Protocol openai_completions;
extern const Protocol anthropic_messages;
extern const Protocol openai_responses;
extern const Protocol ollama_chat;
extern const Protocol ollama_generate;

}  // namespace hearth::services
