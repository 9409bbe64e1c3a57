#include <gtest/gtest.h>

#include <set>

#include "services/chat/pipeline_testing.h"
#include "text/dialect/dialects.h"

namespace hearth::services {
namespace {

using testing::Feed;
using testing::Outcome;
using testing::run;
using text::testing::write_calls;

Feed with(const text::Dialect& dialect, bool control_tokens = false) {
  Feed how;
  how.format = testing::format_of(dialect);
  if (control_tokens) how.tokenizer = testing::tokenizer_of(how.format);
  return how;
}

const std::vector<text::testing::WrittenCall> three = {
    {"read", {{"path", "a.txt"}}}, {"read", {{"path", "b.txt"}}}, {"stat", Json::object()}};

/// Text before calls; where only a first call counts, none.
std::string before(const text::Dialect& dialect) {
  if (dialect.name == "harmony") {
    return "<|channel|>commentary<|message|>Checking.<|end|><|start|>assistant";
  }
  return dialect.first_openings.empty() ? "Checking." : "";
}

TEST(ToolCalls, three_in_one_answer_in_every_dialect) {
  for (const auto* dialect : text::all_dialects()) {
    for (const bool control_tokens : {false, true}) {
      const auto text = before(*dialect) + write_calls(*dialect, three);
      const auto out = run(text, with(*dialect, control_tokens));
      ASSERT_EQ(out.call_texts(), R"(read{"path":"a.txt"} read{"path":"b.txt"} stat{})")
          << dialect->name << ": " << text;
      EXPECT_EQ(out.text, before(*dialect).empty() ? "" : "Checking.") << dialect->name;
      EXPECT_EQ(out.end->tool_calls, 3);
      std::set<std::string> ids;
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(out.calls[i].index, i);
        EXPECT_FALSE(out.calls[i].id.empty());
        ids.insert(out.calls[i].id);
      }
      EXPECT_EQ(ids.size(), 3u) << dialect->name;
    }
  }
}

TEST(ToolCalls, every_token_is_told_once) {
  for (const auto* dialect : text::all_dialects()) {
    const auto text = before(*dialect) + write_calls(*dialect, three) + "\nDone.";
    const auto how = with(*dialect);
    EXPECT_EQ(run(text, how).token_bytes, text) << dialect->name;
  }
}

TEST(ToolCalls, without_parallel_calls_the_answer_ends_after_the_first) {
  for (const auto* dialect : text::all_dialects()) {
    Feed how = with(*dialect);
    how.format.parallel = false;
    how.reason = engine::FinishReason::cancelled;
    const auto out = run(before(*dialect) + write_calls(*dialect, three), how);
    EXPECT_EQ(out.call_texts(), R"(read{"path":"a.txt"})") << dialect->name;
    EXPECT_EQ(out.end->reason, engine::FinishReason::stop);
    EXPECT_EQ(out.end->tool_calls, 1);
  }
}

TEST(ToolCalls, text_before_leaves_at_once_and_text_after_is_kept) {
  const auto call = write_calls(text::hermes, {three[2]});
  const auto out = run("Let me see.\n" + call + "\n And then.", with(text::hermes));
  EXPECT_EQ(out.text, "Let me see.\n\n And then.");
  EXPECT_EQ(out.order, "tct");
  EXPECT_EQ(out.pieces.front(), "L");
}

TEST(ToolCalls, white_space_around_calls_is_not_content) {
  const auto call = write_calls(text::hermes, {three[2]});
  EXPECT_EQ(run("\n\n" + call + "\n" + call + "\n", with(text::hermes)).order, "cc");
  const auto out = run("<think>x</think>\n\n" + call + "\n", with(text::hermes));
  EXPECT_EQ(out.order, "rc");
  EXPECT_EQ(out.text, "");
}

TEST(ToolCalls, truncated_at_every_byte_nothing_is_lost) {
  for (const auto* dialect : text::all_dialects()) {
    const auto text = before(*dialect) + write_calls(*dialect, {three[0]});
    for (std::size_t n = 0; n < text.size(); ++n) {
      if (!is_utf8(std::string_view(text).substr(0, n))) continue;  // its end would be U+FFFD
      Feed how = with(*dialect);
      how.reason = engine::FinishReason::length;
      const auto out = run(text.substr(0, n), how);
      EXPECT_EQ(out.end->reason, engine::FinishReason::length);
      if (out.calls.empty()) {
        EXPECT_TRUE(dialect->name == "harmony" || out.text == text.substr(0, n)) << dialect->name;
      } else {
        EXPECT_EQ(out.call_texts(), R"(read{"path":"a.txt"})") << dialect->name;
      }
    }
  }
}

TEST(ToolCalls, what_is_broken_comes_back_as_content) {
  for (const std::string text :
       {"<tool_call>not json at all</tool_call> after", "<tool_call></tool_call>",
        R"(<tool_call>{"name":"read","arguments":{"path":"abc)",
        R"(<tool_call>{"name":"nope","arguments":{}}</tool_call>)", "<tool_call> <tool_cal"}) {
    const auto out = run(text, with(text::hermes));
    EXPECT_EQ(out.text, text);
    EXPECT_EQ(out.end->tool_calls, 0);
    EXPECT_EQ(out.end->reason, engine::FinishReason::stop);
  }
}

TEST(ToolCalls, a_broken_call_does_not_take_the_next_with_it) {
  const auto good = write_calls(text::hermes, {three[0]});
  const auto out = run("<tool_call>oops</tool_call>" + good, with(text::hermes));
  EXPECT_EQ(out.text, "<tool_call>oops</tool_call>");
  EXPECT_EQ(out.calls.size(), 1u);
}

TEST(ToolCalls, a_json_answer_that_is_no_call_streams) {
  const auto out = run(R"({"city": "Paris", "name": 1})", with(text::llama3));
  EXPECT_EQ(out.text, R"({"city": "Paris", "name": 1})");
  EXPECT_GT(out.pieces.size(), 10u) << "it is not held back";
  EXPECT_EQ(run("[1, 2]", with(text::llama_pythonic)).text, "[1, 2]");
}

TEST(ToolCalls, inside_open_reasoning_a_whole_call_counts) {
  const auto call = write_calls(text::hermes, {three[0]});
  Feed how = with(text::hermes);
  how.format.starts_in_reasoning = true;
  const auto out = run("so I call it\n" + call, how);
  EXPECT_EQ(out.order, "rc");
  EXPECT_EQ(out.reasoning, "so I call it");
  const auto mention = run("I could use <tool_call> here</think>yes", how);
  EXPECT_EQ(mention.reasoning, "I could use <tool_call> here");
  EXPECT_EQ(mention.text, "yes");
}

TEST(ToolCalls, reasoning_text_and_calls_come_in_order) {
  const auto call = write_calls(text::hermes, {three[2]});
  const auto out = run("<think>a</think>text<think>b</think>" + call, with(text::hermes));
  EXPECT_EQ(out.order, "rtrc");
}

TEST(ToolCalls, stop_strings_do_not_reach_into_calls) {
  Feed how = with(text::hermes);
  how.stop = {"a.txt", "DONE"};
  const auto out = run(write_calls(text::hermes, {three[0]}) + "\nDONE.", how);
  EXPECT_EQ(out.calls.size(), 1u);
  EXPECT_EQ(out.end->stop_sequence, "DONE");
}

TEST(ToolCalls, ids_of_the_model_are_kept_unless_they_repeat) {
  const auto out = run(R"([TOOL_CALLS] [{"name":"stat","arguments":{},"id":"abcdefghi"},)"
                       R"({"name":"stat","arguments":{},"id":"abcdefghi"}])",
                       with(text::mistral));
  ASSERT_EQ(out.calls.size(), 2u);
  EXPECT_EQ(out.calls[0].id, "abcdefghi");
  EXPECT_TRUE(out.calls[1].id.starts_with("call_"));
  EXPECT_EQ(out.calls[1].id.size(), 29u);
}

TEST(ToolCalls, without_tools_markup_is_text) {
  const auto text = write_calls(text::hermes, {three[0]});
  EXPECT_EQ(run(text, Feed{}).text, text);
}

}  // namespace
}  // namespace hearth::services
