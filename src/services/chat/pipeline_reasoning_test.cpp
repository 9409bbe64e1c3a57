#include <gtest/gtest.h>

#include "services/chat/output_format.h"
#include "services/chat/pipeline_testing.h"
#include "text/dialect/dialects.h"

namespace hearth::services {
namespace {

using testing::Feed;
using testing::Outcome;
using testing::run;

Feed thinking(std::string_view name, bool inside = false) {
  Feed how;
  how.format.reasoning = &testing::reasoning_named(name);
  how.format.starts_in_reasoning = inside;
  return how;
}

TEST(Reasoning, is_told_apart_from_the_answer_without_its_markers) {
  const auto out = run("<think>\nfirst, then\n</think>\n\nThe answer.", thinking("think"));
  EXPECT_EQ(out.reasoning, "first, then");
  EXPECT_EQ(out.text, "The answer.");
  EXPECT_EQ(out.order, "rt");
}

TEST(Reasoning, starts_inside_when_the_prompt_opened_it) {
  const auto out = run("plan</think>go", thinking("think", true));
  EXPECT_EQ(out.reasoning, "plan");
  EXPECT_EQ(out.text, "go");
}

TEST(Reasoning, an_opening_that_the_model_repeats_is_not_its_text) {
  const auto out = run("<think>\nplan</think>go", thinking("think", true));
  EXPECT_EQ(out.reasoning, "plan");
  EXPECT_EQ(out.text, "go");
}

TEST(Reasoning, cut_by_length_stays_reasoning) {
  Feed how = thinking("think", true);
  how.reason = engine::FinishReason::length;
  for (const std::string text : {"half a plan", "half a plan</thi"}) {
    const auto out = run(text, how);
    EXPECT_EQ(out.reasoning, text);
    EXPECT_EQ(out.text, "");
    EXPECT_EQ(out.end->usage.reasoning_tokens, int(text.size()));
    EXPECT_EQ(out.end->reason, engine::FinishReason::length);
  }
}

TEST(Reasoning, may_come_more_than_once) {
  const auto out = run("<think>a</think>text<think>b</think>more", thinking("think"));
  EXPECT_EQ(out.order, "rtrt");
  EXPECT_EQ(out.reasoning, "ab");
  EXPECT_EQ(out.text, "textmore");
}

TEST(Reasoning, that_opens_after_text_is_told_once_it_is_closed) {
  const auto out = run("text\n<think>\nb\n</think>\nmore", thinking("think"));
  EXPECT_EQ(out.order, "trt");
  EXPECT_EQ(out.reasoning, "b");
  EXPECT_EQ(out.text, "text\nmore");
}

TEST(Reasoning, an_opening_in_the_answer_that_is_never_closed_is_text) {
  for (const auto reason : {engine::FinishReason::stop, engine::FinishReason::length}) {
    Feed how = thinking("think");
    how.reason = reason;
    const std::string said = "<think>a</think>It is 4.\n<think>and so on\n<think>to the end";
    const auto out = run(said, how);
    EXPECT_EQ(out.reasoning, "a");
    EXPECT_EQ(out.text, said.substr(said.find("It is")));
    EXPECT_EQ(out.token_bytes, said);
  }
}

TEST(Reasoning, markers_that_are_spoken_of_are_text) {
  for (const std::string said :
       {"Put it between the <think> and </think> tags.", "Write `<think>` first, then `</think>`.",
        "```\n<think>a</think>\n```\ndone", "It says \"<think>hm</think>\"."}) {
    const auto out = run(said, thinking("think"));
    EXPECT_EQ(out.text, said);
    EXPECT_EQ(out.reasoning, "");
  }
}

TEST(Reasoning, a_long_text_after_a_stray_opening_is_not_held_to_the_end) {
  const std::string said = "ok\n<think>" + std::string(9000, 'x') + "</think>y";
  const auto out = run(said, thinking("think"));
  EXPECT_EQ(out.text, said);
  EXPECT_GT(out.pieces.size(), 700u);
}

TEST(Reasoning, stop_strings_apply_to_text_after_a_stray_opening) {
  Feed how = thinking("think");
  how.stop = {"END"};
  const auto out = run("ok\n<think>a END b", how);
  EXPECT_EQ(out.text, "ok\n<think>a ");
  EXPECT_EQ(out.end->stop_sequence, "END");
}

TEST(Reasoning, a_call_after_a_stray_opening_is_a_call) {
  Feed how;
  how.format = testing::format_of(text::hermes);
  const std::string call = R"(<tool_call>{"name":"stat","arguments":{}}</tool_call>)";
  for (const bool tokens : {false, true}) {
    if (tokens) how.tokenizer = testing::tokenizer_of(how.format);
    const auto out = run("ok\n<think>now" + call, how);
    EXPECT_EQ(out.text, "ok\n<think>now");
    EXPECT_EQ(out.call_texts(), "stat{}");
    const auto closed = run("ok\n<think>now</think>" + call, how);
    EXPECT_EQ(closed.order, "trc");
    EXPECT_EQ(closed.reasoning, "now");
  }
}

TEST(Reasoning, gemma_names_a_later_channel_too) {
  Feed how = thinking("gemma");
  how.tokenizer = testing::tokenizer_of(how.format);
  const auto out = run("yes<|channel>thought\nsure<channel|>so", how);
  EXPECT_EQ(out.reasoning, "sure");
  EXPECT_EQ(out.text, "yesso");
}

TEST(Reasoning, that_is_empty_is_not_told) {
  const auto out = run("<think>\n\n</think>\n\nyes", thinking("think"));
  EXPECT_EQ(out.order, "t");
  EXPECT_EQ(out.text, "yes");
}

TEST(Reasoning, a_stray_closing_is_text) {
  EXPECT_EQ(run("a </think> b", thinking("think")).text, "a </think> b");
}

TEST(Reasoning, its_tokens_are_counted_with_their_markers) {
  const auto out = run("<think>ab</think>\ncd", thinking("think"));
  EXPECT_EQ(out.end->usage.reasoning_tokens, 7 + 2 + 8);
  EXPECT_EQ(out.tokens, 7 + 2 + 8 + 3) << "every token is told, markers too";
}

TEST(Reasoning, stop_strings_do_not_apply_to_it) {
  Feed how = thinking("think");
  how.stop = {"END"};
  const auto out = run("<think>no END here</think>but END here", how);
  EXPECT_EQ(out.reasoning, "no END here");
  EXPECT_EQ(out.text, "but ");
  EXPECT_EQ(out.end->stop_sequence, "END");
}

TEST(Reasoning, white_space_inside_is_kept) {
  const auto out = run("<think>a\n\n  b </think>c", thinking("think"));
  EXPECT_EQ(out.reasoning, "a\n\n  b");
  EXPECT_EQ(out.text, "c");
}

TEST(Reasoning, markers_that_are_tokens_go_by_their_ids) {
  Feed how = thinking("gemma");
  how.tokenizer = std::make_shared<testing::MarkerTokenizer>(
      std::vector<std::string_view>{"<|channel>", "<channel|>"});
  auto ids = how.tokenizer->ids("<|channel>thought\nplan <channel|>Spelled: ");
  for (const unsigned char c : std::string_view("<|channel>x")) ids.push_back(c);
  const auto out = run(ids, how);
  EXPECT_EQ(out.reasoning, "plan");
  EXPECT_EQ(out.text, "Spelled: <|channel>x") << "text that spells a marker is text";
}

TEST(Reasoning, gemma_names_its_channel_on_the_first_line) {
  EXPECT_EQ(run("<|channel>thought\n<channel|>yes", thinking("gemma")).order, "t");
  EXPECT_EQ(run("<|channel>I think<channel|>yes", thinking("gemma")).reasoning, "I think");
  Feed cut = thinking("gemma");
  cut.reason = engine::FinishReason::length;
  EXPECT_EQ(run("<|channel>thou", cut).order, "");
}

TEST(Reasoning, harmony_channels) {
  Feed how = thinking("harmony");
  const std::string_view text =
      "<|channel|>analysis<|message|>think it over<|end|><|start|>assistant<|channel|>commentary"
      "<|message|>I will look. <|end|><|start|>assistant<|channel|>final<|message|>Four.<|return|>";
  auto out = run(text, how);
  EXPECT_EQ(out.reasoning, "think it over");
  EXPECT_EQ(out.text, "I will look. Four.");
  how.tokenizer = std::make_shared<testing::MarkerTokenizer>(std::vector<std::string_view>(
      std::begin(text::Harmony::markers), std::end(text::Harmony::markers)));
  out = run(text, how);
  EXPECT_EQ(out.reasoning, "think it over");
  EXPECT_EQ(out.text, "I will look. Four.");
}

TEST(FindReasoning, by_the_template_then_the_vocabulary) {
  const testing::MarkerTokenizer none, tokens({"<think>", "</think>"});
  EXPECT_EQ(text::find_reasoning("plain", none), nullptr);
  EXPECT_EQ(text::find_reasoning("plain", tokens)->name, "think");
  EXPECT_EQ(text::find_reasoning("split('</think>')", none)->name, "think");
  EXPECT_EQ(text::find_reasoning("<|channel>thought", none)->name, "gemma");
  EXPECT_EQ(text::find_reasoning("<|channel|>x<|message|>", none)->name, "harmony");
  EXPECT_EQ(text::find_reasoning("[THINK]", none)->name, "mistral");
}

/// A template that opens the channel, or closes it at once.
class ThinkingTemplate : public testing::PlainTemplate {
 public:
  explicit ThinkingTemplate(std::string end) : end_(std::move(end)) {}
  Result<text::RenderedChat> render(const text::Conversation& chat) const override {
    auto rendered = PlainTemplate::render(chat);
    if (rendered && chat.add_generation_prompt) rendered->segments[0].text += end_;
    return rendered;
  }
  const std::string& source() const override { return source_; }

 private:
  const std::string end_, source_ = "<think>";
};

bool starts_inside(const std::string& prompt_end, text::Conversation chat) {
  testing::ScriptedRow row;
  const auto model = testing::scripted_model([](auto&) { return Result<void>(); });
  model->chat_template = std::make_shared<ThinkingTemplate>(prompt_end);
  Request request;
  request.input = std::move(chat);
  const auto& conversation = std::get<text::Conversation>(request.input);
  const auto rendered = model->chat_template->render(conversation);
  const auto ids = *model->tokenizer->encode(rendered->text(), {});
  return output_format(*model, request, request.input, ids).starts_in_reasoning;
}

text::Conversation chat_of(const std::string& role, const std::string& content) {
  text::Conversation chat;
  chat.messages = Json::array({{{"role", role}, {"content", content}}});
  return chat;
}

TEST(OutputFormat, reads_the_start_from_the_prompt) {
  EXPECT_TRUE(starts_inside("<think>\n", chat_of("user", "hi")));
  EXPECT_FALSE(starts_inside("<think>\n\n</think>\n\n", chat_of("user", "hi")));
  EXPECT_FALSE(starts_inside("", chat_of("user", "what is <think>"))) << "a user wrote that";
  auto turn = chat_of("assistant", "<think>so far");
  turn.add_generation_prompt = false;
  turn.continue_final_message = true;
  EXPECT_TRUE(starts_inside("", turn));
}

TEST(OutputFormat, looks_for_calls_only_where_they_may_come) {
  const auto model = testing::scripted_model([](auto&) { return Result<void>(); });
  Request request;
  auto chat = chat_of("user", "hi");
  request.input = chat;
  EXPECT_EQ(output_format(*model, request, request.input, {}).dialect, nullptr) << "no tools";
  chat.tools = text::testing::test_tools();
  request.input = chat;
  EXPECT_EQ(output_format(*model, request, request.input, {}).dialect, &text::hermes);
  request.tool_choice.names = {"stat"};
  EXPECT_FALSE(output_format(*model, request, request.input, {}).tools.contains("read"));
  request.tool_choice.mode = ToolChoice::Mode::none;
  EXPECT_EQ(output_format(*model, request, request.input, {}).dialect, nullptr);
  EXPECT_EQ(output_format(*model, request, Input("raw text"), {}).reasoning, nullptr);
}

}  // namespace
}  // namespace hearth::services
