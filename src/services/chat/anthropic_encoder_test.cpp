// Anthropic's Messages: events to frames and message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/chat/anthropic.h"
#include "services/chat/wire_testing.h"

namespace hearth::services {
namespace {

using testing::call;
using testing::finished;
using ::testing::HasSubstr;
using testing::reasoning;
using testing::text;

std::string types_of(const std::vector<Json>& frames) {
  std::string types;
  for (const Json& frame : frames) {
    types += frame["type"].get<std::string>();
    if (frame.contains("content_block")) {
      types += ":" + frame["content_block"]["type"].get<std::string>();
    }
    if (frame.contains("delta") && frame["delta"].contains("type")) {
      types += ":" + frame["delta"]["type"].get<std::string>();
    }
    if (frame.contains("index")) types += "@" + frame["index"].dump();
    types += "\n";
  }
  return types;
}

TEST(MessagesEncoder, blocks_come_one_after_the_other) {
  const std::string stream =
      testing::streamed(anthropic_messages, {},
                        {reasoning("plan "), reasoning("one"), text("\n\n"), text("I will look."),
                         call("call_0123456789abcdef01234567", "look", R"({"q":"x"})"), text("\n"),
                         finished(engine::FinishReason::stop, 1)});
  EXPECT_EQ(types_of(testing::frames_of(stream)),
            "message_start\nping\n"
            "content_block_start:thinking@0\ncontent_block_delta:thinking_delta@0\n"
            "content_block_delta:thinking_delta@0\ncontent_block_delta:signature_delta@0\n"
            "content_block_stop@0\n"
            "content_block_start:text@1\ncontent_block_delta:text_delta@1\ncontent_block_stop@1\n"
            "content_block_start:tool_use@2\ncontent_block_delta:input_json_delta@2\n"
            "content_block_delta:input_json_delta@2\ncontent_block_stop@2\n"
            "message_delta\nmessage_stop\n");
  EXPECT_THAT(stream, HasSubstr("event: message_start\ndata: {\"type\":\"message_start\""));
  EXPECT_EQ(stream.find("[DONE]"), stream.npos);
}

TEST(MessagesEncoder, the_opening_tells_the_prompts_length_and_the_end_the_totals) {
  const auto frames =
      testing::frames_of(testing::streamed(anthropic_messages, {}, {text("Hi"), finished()}));
  EXPECT_EQ(frames.front()["message"]["usage"]["input_tokens"], 9);
  EXPECT_EQ(frames.front()["message"]["content"], Json::array());
  const Json& delta = frames[frames.size() - 2];
  EXPECT_EQ(delta["delta"], Json::parse(R"({"stop_reason":"end_turn","stop_sequence":null,
      "stop_details":null,"container":null})"));
  EXPECT_EQ(delta["usage"], Json::parse(R"({"input_tokens":5,"cache_creation_input_tokens":0,
      "cache_read_input_tokens":4,"output_tokens":7,
      "output_tokens_details":{"thinking_tokens":3},"server_tool_use":null})"));
}

TEST(MessagesEncoder, thinking_again_is_a_block_of_its_own) {
  const Json body =
      testing::whole(anthropic_messages, {},
                     {reasoning("a"), text("text"), reasoning("b"), call("mine", "look", "{}"),
                      finished(engine::FinishReason::stop, 1)});
  std::string types;
  for (const Json& block : body["content"]) types += block["type"].get<std::string>() + " ";
  EXPECT_EQ(types, "thinking text thinking tool_use ");
  EXPECT_FALSE(body["content"][0]["signature"].get<std::string>().empty());
  EXPECT_EQ(body["content"][3],
            Json::parse(R"({"type":"tool_use","id":"mine","name":"look","input":{},
                "caller":{"type":"direct"}})"));
  EXPECT_EQ(body["stop_reason"], "tool_use");
}

TEST(MessagesEncoder, an_answer_of_nothing_is_one_empty_text_block) {
  const Json body = testing::whole(anthropic_messages, {}, {finished()});
  EXPECT_EQ(body["content"], Json::parse(R"([{"type":"text","text":"","citations":null}])"));
  const auto frames = testing::frames_of(testing::streamed(anthropic_messages, {}, {finished()}));
  EXPECT_EQ(types_of(frames),
            "message_start\nping\ncontent_block_start:text@0\ncontent_block_stop@0\n"
            "message_delta\nmessage_stop\n");
}

TEST(MessagesEncoder, white_space_is_kept_where_text_follows_or_is_all_there_is) {
  EXPECT_EQ(testing::whole(anthropic_messages, {},
                           {text(" "), text("\nHi \n"), finished()})["content"][0]["text"],
            " \nHi \n");
  EXPECT_EQ(testing::whole(anthropic_messages, {}, {text("\n"), finished()})["content"][0]["text"],
            "\n");
}

TEST(MessagesEncoder, why_it_stopped) {
  using engine::FinishReason;
  const auto stop = [](Event end) {
    const Json body = testing::whole(anthropic_messages, {}, {text("x"), std::move(end)});
    return body["stop_reason"].get<std::string>() + "/" + body["stop_sequence"].dump();
  };
  EXPECT_EQ(stop(finished()), "end_turn/null");
  EXPECT_EQ(stop(finished(FinishReason::stop, 0, "END")), "stop_sequence/\"END\"");
  EXPECT_EQ(stop(finished(FinishReason::length)), "max_tokens/null");
  EXPECT_EQ(stop(finished(FinishReason::length, 1)), "max_tokens/null");
  EXPECT_EQ(stop(finished(FinishReason::stop, 2)), "tool_use/null");
}

TEST(MessagesEncoder, a_failure_after_the_start_is_an_error_event) {
  const auto encoder = anthropic_messages.encoder({}, testing::reply_info());
  EXPECT_EQ(encoder->error_frame({ErrorCode::internal, "no memory", ""}),
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":"
            "\"no memory\"}}\n\n");
}

}  // namespace
}  // namespace hearth::services
