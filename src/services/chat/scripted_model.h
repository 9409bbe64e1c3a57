// For tests: a model whose engine is a script, and a tokenizer whose ids are bytes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/chat/token_bytes.h"
#include "services/model.h"

namespace hearth::services::testing {

/// Ids 0 to 255 are bytes; 256 is <|end|>, which ends a turn.
class ByteTokenizer : public text::Tokenizer {
 public:
  static constexpr text::TokenId end = 256;

  Result<std::vector<text::TokenId>> encode(std::string_view text,
                                            text::EncodeOptions) const override;
  std::string decode(std::span<const text::TokenId> ids, bool skip_special) const override;
  /// In GPT-2's alphabet, as a byte-level vocabulary spells it.
  std::string piece(text::TokenId id) const override;
  std::optional<text::TokenId> id_of(std::string_view) const override { return std::nullopt; }
  int vocab_size() const override { return end + 1; }
  bool is_marker(text::TokenId id) const override { return id == end; }
  bool is_special(text::TokenId id) const override { return id == end; }
  text::Spelling spelling() const override { return text::Spelling::byte_level; }
  const std::string& bos_text() const override { return empty_; }
  const std::string& eos_text() const override { return empty_; }
  std::optional<text::TokenId> bos_id() const override { return std::nullopt; }
  const std::set<text::TokenId>& stop_ids() const override { return stop_ids_; }

 private:
  const std::string empty_;
  const std::set<text::TokenId> stop_ids_{end};
};

/// "role: content\n" for each message, then "assistant: ". Refuses system turns when asked to, as
/// some models' templates do.
class PlainTemplate : public text::ChatTemplate {
 public:
  explicit PlainTemplate(bool takes_system = true) : takes_system_(takes_system) {}
  Result<text::RenderedChat> render(const text::Conversation& conversation) const override;
  Result<std::vector<text::TokenId>> encode(const text::Conversation& conversation) const override;
  const std::string& source() const override { return source_; }
  bool supports_tools() const override { return true; }
  bool supports_thinking() const override { return false; }

 private:
  const bool takes_system_;
  const std::string source_ = "plain";
};

/// A row of the script: the job as it came, and its stream for the test to fill.
struct ScriptedRow {
  engine::GenerateRequest job;
  std::shared_ptr<engine::TokenStream> stream = std::make_shared<engine::TokenStream>();

  /// Sends the bytes of `text`, a token each.
  void say(std::string_view text);
  void finish(engine::FinishReason reason = engine::FinishReason::stop);
};

/// Rows in the order they were submitted. Called on other threads: guard what the callback touches.
using OnSubmit = std::function<Result<void>(ScriptedRow&)>;

/// A model that hands each submitted row to `on_submit`.
std::shared_ptr<LoadedModel> scripted_model(OnSubmit on_submit);

inline bool printable(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

inline Result<std::vector<text::TokenId>> ByteTokenizer::encode(std::string_view text,
                                                                text::EncodeOptions) const {
  std::vector<text::TokenId> ids;
  for (const unsigned char byte : text) ids.push_back(byte);
  return ids;
}

inline std::string ByteTokenizer::decode(std::span<const text::TokenId> ids, bool) const {
  std::string text;
  for (const auto id : ids) {
    if (id < end) text += char(id);
  }
  // A character that is cut off at the end becomes one U+FFFD, as libraries decode it.
  for (std::size_t cut = 1; cut <= 3 && cut <= text.size() && !is_utf8(text); ++cut) {
    const std::string_view whole(text.data(), text.size() - cut);
    if (is_utf8(whole)) return std::string(whole) + "\uFFFD";
  }
  return text;
}

inline std::string ByteTokenizer::piece(text::TokenId id) const {
  if (id == end) return "<|end|>";
  int code = id;
  if (!printable(id)) {
    code = 256;
    for (int byte = 0; byte < id; ++byte) code += !printable(byte);
  }
  if (code < 0x80) return {char(code)};
  return {char(0xc0 | code >> 6), char(0x80 | (code & 0x3f))};
}

inline Result<text::RenderedChat> PlainTemplate::render(
    const text::Conversation& conversation) const {
  std::string text;
  for (const Json& message : conversation.messages) {
    if (message["role"] == "system" && !takes_system_) {
      return fail(ErrorCode::invalid_request, "prompt build failed: no system turn, please");
    }
    text +=
        message["role"].get<std::string>() + ": " + message["content"].get<std::string>() + "\n";
    if (message.contains("tool_calls")) text += message["tool_calls"].dump() + "\n";
  }
  if (conversation.add_generation_prompt) text += "assistant: ";
  text::RenderedChat chat;
  chat.segments.push_back({.text = std::move(text)});
  return chat;
}

inline Result<std::vector<text::TokenId>> PlainTemplate::encode(
    const text::Conversation& conversation) const {
  const auto chat = render(conversation);
  if (!chat) return fail(chat.error());
  return ByteTokenizer().encode(chat->segments.front().text, {});
}

inline void ScriptedRow::say(std::string_view text) {
  for (const unsigned char byte : text) {
    engine::Sampled token;
    token.id = byte;
    token.logprob = -0.5f;
    for (int i = 0; i < job.sampling.top_logprobs; ++i) token.top.push_back({byte + i, -0.5f - i});
    stream->push(std::move(token));
  }
}

inline void ScriptedRow::finish(engine::FinishReason reason) {
  engine::Finish finish;
  finish.reason = stream->cancelled() ? engine::FinishReason::cancelled : reason;
  finish.usage.prompt_tokens = int(job.prompt.size());
  finish.usage.completion_tokens = 7;
  if (reason == engine::FinishReason::error) {
    finish.error = Error{ErrorCode::internal, "the script failed", ""};
  }
  stream->push(std::move(finish));
}

inline std::shared_ptr<LoadedModel> scripted_model(OnSubmit on_submit) {
  auto model = std::make_shared<LoadedModel>();
  model->id = "scripted";
  model->tokenizer = std::make_shared<ByteTokenizer>();
  model->chat_template = std::make_shared<PlainTemplate>();
  model->info.context_length = 4096;
  model->info.vocab_size = ByteTokenizer::end + 1;
  model->submit = [on_submit = std::move(on_submit)](
                      engine::GenerateRequest job) -> Result<std::shared_ptr<engine::TokenStream>> {
    ScriptedRow row;
    row.job = std::move(job);
    if (auto taken = on_submit(row); !taken) return fail(taken.error());
    return row.stream;
  };
  return model;
}

}  // namespace hearth::services::testing
