#include "services/chat/pipeline.h"

#include <gtest/gtest.h>

#include "services/chat/scripted_model.h"
#include "services/chat/token_bytes.h"

namespace hearth::services {
namespace {

using testing::ByteTokenizer;

struct TextOutcome {
  std::string text;
  std::vector<std::string> pieces;  // one an event
  std::string token_bytes;          // of all tokens told
  std::optional<Finished> end;
};

TextOutcome run_text(std::string_view bytes, std::vector<std::string> stop,
                     engine::FinishReason reason = engine::FinishReason::stop) {
  const auto tokenizer = std::make_shared<ByteTokenizer>();
  OutputPipeline pipeline(tokenizer, std::move(stop), true);
  TextOutcome out;
  const auto take = [&](const engine::StreamItem& item) {
    std::vector<Event> events;
    pipeline.push(item, events);
    for (const Event& event : events) {
      if (const auto* delta = std::get_if<TextDelta>(&event)) {
        out.text += delta->text;
        out.pieces.push_back(delta->text);
        for (const auto& t : delta->tokens) out.token_bytes += token_bytes(*tokenizer, t.token.id);
      } else {
        EXPECT_FALSE(out.end) << "more than one end";
        out.end = std::get<Finished>(event);
      }
    }
  };
  for (const unsigned char byte : bytes) {
    engine::Sampled token;
    token.id = byte;
    take(token);
  }
  engine::Finish finish;
  finish.reason = reason;
  finish.usage.completion_tokens = int(bytes.size());
  take(finish);
  return out;
}

TEST(OutputPipeline, no_half_character_leaves_it) {
  const auto out = run_text("naïve 東京 🚀", {});
  EXPECT_EQ(out.text, "naïve 東京 🚀");
  for (const auto& piece : out.pieces) EXPECT_TRUE(is_utf8(piece));
}

TEST(OutputPipeline, a_character_cut_by_the_limit_is_replaced_once_at_the_end) {
  const auto out = run_text("ab\xf0\x9f", {}, engine::FinishReason::length);
  EXPECT_EQ(out.text, "ab\uFFFD");
  EXPECT_EQ(out.end->reason, engine::FinishReason::length);
}

TEST(OutputPipeline, the_bytes_of_told_tokens_joined_are_the_text) {
  EXPECT_EQ(run_text("Say: café 🚀", {}).token_bytes, "Say: café 🚀");
}

TEST(OutputPipeline, a_stop_string_ends_it_and_none_of_it_leaves) {
  const auto out = run_text("one STOP two", {"STOP"}, engine::FinishReason::cancelled);
  EXPECT_EQ(out.text, "one ");
  EXPECT_EQ(out.token_bytes, "one ");
  EXPECT_EQ(out.end->reason, engine::FinishReason::stop);
  EXPECT_EQ(out.end->stop_sequence, "STOP");
  EXPECT_EQ(out.end->usage.completion_tokens, 8) << "tokens after the stop string do not count";
}

TEST(OutputPipeline, what_was_held_back_is_given_out_at_the_end) {
  const auto out = run_text("one ST", {"STOP"});
  EXPECT_EQ(out.text, "one ST");
  EXPECT_EQ(out.token_bytes, "one ST");
  EXPECT_EQ(out.end->stop_sequence, "");
}

TEST(OutputPipeline, an_error_keeps_the_text_before_it) {
  const auto out = run_text("half an ans", {}, engine::FinishReason::error);
  EXPECT_EQ(out.text, "half an ans");
  EXPECT_EQ(out.end->reason, engine::FinishReason::error);
}

}  // namespace
}  // namespace hearth::services
