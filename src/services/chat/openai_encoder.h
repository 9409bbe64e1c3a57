// What the encoders of chat and text completions share: the head of every object, where the usage
// goes, how a stream ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/chat/openai_common.h"
#include "services/chat/protocol.h"

namespace hearth::services {

class OpenAiEncoder : public Encoder {
 public:
  struct Names {
    std::string_view id_prefix;     // "chatcmpl-"
    std::string_view object;        // "chat.completion"
    std::string_view chunk_object;  // "chat.completion.chunk"
    bool null_usage = false;        // chunks before the one with the usage say that it is null
  };

  OpenAiEncoder(const Request& request, ReplyInfo info, const Names& names);

  std::string begin(const std::vector<std::string>& echoes) override;
  std::string frames(const ChoiceEvent& event) override;
  std::string end(const Usage& usage) override;
  std::string error_frame(const Error& error) const override;
  std::string ping() const override;
  Json body(const Usage& usage) const override;

 protected:
  struct Choice {
    std::string text, reasoning;
    std::vector<ToolCall> calls;
    std::vector<TokenInfo> tokens;
    std::size_t tokens_text = 0;  // characters of the tokens told so far
    std::string finish_reason;
  };

  /// The chunk choice that opens a stream; null for none.
  virtual Json opening(const Choice& choice) const = 0;
  /// A chunk choice with more text and its tokens.
  virtual Json more(Choice& choice, const TextDelta& delta) const = 0;
  /// A chunk choice with more reasoning; null where the wire has none.
  virtual Json reasoning(const ReasoningDelta&) const { return nullptr; }
  /// The chunk choices of a call.
  virtual std::vector<Json> call(const ToolCall&) const { return {}; }
  virtual std::string_view finish_reason(const Finished& end) const {
    return openai_finish_reason(end.reason);
  }
  /// The chunk choice that only says how it ended (finish_reason is set by the caller).
  virtual Json closing() const = 0;
  /// The choice of an answer that is not streamed.
  virtual Json whole(const Choice& choice) const = 0;

  bool wants_logprobs() const { return logprobs_; }
  const text::Tokenizer& tokenizer() const { return *info_.tokenizer; }

 private:
  Json head(std::string_view object) const;
  Json chunk(int index, Json choice) const;
  static void gather(Choice& choice, const Event& event);
  std::string delta_frames(int index, const Event& event);

  const bool stream_, logprobs_;
  const bool include_usage_;
  const std::string service_tier_;
  const ReplyInfo info_;
  const Names names_;
  const std::string id_;
  std::vector<Choice> choices_;
  int finished_ = 0;
  std::optional<Json> last_;  // the last finish chunk: the timings may ride on it
};

}  // namespace hearth::services
