// OpenAI's Responses: events to the stream and the response object.
#include <gtest/gtest.h>

#include "services/chat/responses.h"
#include "services/chat/responses_reasoning.h"
#include "services/chat/wire_testing.h"

namespace hearth::services {
namespace {

using testing::asked;
using testing::call;
using testing::finished;
using testing::reasoning;
using testing::text;

std::vector<Json> events_of(const std::string& body, const std::vector<Event>& events) {
  return testing::frames_of(
      testing::streamed(openai_responses, asked(openai_responses, body), events));
}

Json answer_of(const std::string& body, const std::vector<Event>& events) {
  return testing::whole(openai_responses, asked(openai_responses, body), events);
}

/// "type@output_index" of each event, a line each.
std::string told(const std::vector<Json>& events) {
  std::string out;
  for (const Json& event : events) {
    out += event["type"].get<std::string>();
    if (event.contains("output_index")) out += "@" + event["output_index"].dump();
    out += "\n";
  }
  return out;
}

const std::string with_tool = R"({"input":"hi","tools":[{"type":"function","name":"look"}]})";

Event with_token(std::string words) {
  TextDelta delta{.text = words, .tokens = {}};
  for (const unsigned char byte : words) {
    delta.tokens.push_back({{byte, -0.5f}, {{byte, -0.5f}, {65, -2.f}}});
  }
  return delta;
}

TEST(ResponsesEncoder, logprobs_of_the_text_where_they_are_asked_for) {
  const std::string body =
      R"({"input":"hi","include":["message.output_text.logprobs"],"top_logprobs":2})";
  EXPECT_EQ(asked(openai_responses, body).top_logprobs, 2);
  EXPECT_EQ(asked(openai_responses, R"({"input":"hi","include":["message.output_text.logprobs"]})")
                .top_logprobs,
            0);
  EXPECT_EQ(asked(openai_responses, R"({"input":"hi","top_logprobs":3})").top_logprobs, 3);
  EXPECT_EQ(asked(openai_responses, R"({"input":"hi","top_logprobs":0})").top_logprobs, -1);
  EXPECT_EQ(openai_responses.parse({{"input", "hi"}, {"top_logprobs", 21}}, "").error().param,
            "top_logprobs");
  const std::vector<Event> told{with_token(" "), with_token("a"), with_token("b"), finished()};
  const Json answer = answer_of(body, told);
  EXPECT_EQ(answer["top_logprobs"], 2);
  const Json entries = answer["output"][0]["content"][0]["logprobs"];
  ASSERT_EQ(entries.size(), 3u) << "the blank that opened the text too";
  EXPECT_EQ(
      entries[1].dump(),
      R"({"token":"a","bytes":[97],"logprob":-0.5,"top_logprobs":[)"
      R"({"token":"a","bytes":[97],"logprob":-0.5},{"token":"A","bytes":[65],"logprob":-2.0}]})");
  Json streamed = Json::array();
  for (const Json& event : events_of(body, told)) {
    if (event["type"] == "response.output_text.done") {
      EXPECT_EQ(event["logprobs"], entries);
    } else if (event["type"] == "response.output_text.delta") {
      for (const Json& entry : event["logprobs"]) streamed.push_back(entry);
    }
  }
  EXPECT_EQ(streamed, entries);
}

TEST(ResponsesEncoder, every_event_in_its_order) {
  const auto events = events_of(
      with_tool, {reasoning("plan"), text("\n"), text("I "), text("look."),
                  call("call_1", "look", R"({"q":1})"), finished(engine::FinishReason::stop, 1)});
  EXPECT_EQ(told(events),
            "response.created\nresponse.in_progress\n"
            "response.output_item.added@0\nresponse.reasoning_summary_part.added@0\n"
            "response.reasoning_summary_text.delta@0\nresponse.reasoning_summary_text.done@0\n"
            "response.reasoning_summary_part.done@0\nresponse.output_item.done@0\n"
            "response.output_item.added@1\nresponse.content_part.added@1\n"
            "response.output_text.delta@1\nresponse.output_text.delta@1\n"
            "response.output_text.done@1\nresponse.content_part.done@1\n"
            "response.output_item.done@1\n"
            "response.output_item.added@2\nresponse.function_call_arguments.delta@2\n"
            "response.function_call_arguments.done@2\nresponse.output_item.done@2\n"
            "response.completed\n");
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
}

TEST(ResponsesEncoder, items_of_the_stream_are_those_of_the_response) {
  const auto events = events_of(
      with_tool, {reasoning("plan"), text("Looking."), call("call_1", "look", R"({"q":1})"),
                  finished(engine::FinishReason::stop, 1)});
  const Json& response = events.back()["response"];
  Json done = Json::array();
  std::string item_id, joined;
  for (const Json& event : events) {
    if (event["type"] == "response.output_item.added") {
      item_id = event["item"]["id"].get<std::string>();
    }
    if (event.contains("item_id")) {
      EXPECT_EQ(event["item_id"], item_id);
    }
    if (event["type"] == "response.output_text.delta") joined += event["delta"];
    if (event["type"] == "response.output_item.done") done.push_back(event["item"]);
  }
  EXPECT_EQ(response["output"], done);
  EXPECT_EQ(joined, "Looking.");
  EXPECT_EQ(response["status"], "completed");
  EXPECT_EQ(done[1]["content"][0]["text"], "Looking.");
  EXPECT_EQ(done[2]["arguments"], R"({"q":1})");
  EXPECT_EQ(done[2]["call_id"], "call_1");
  EXPECT_EQ(response["usage"], Json::parse(R"({"input_tokens":9,
      "input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},"output_tokens":7,
      "output_tokens_details":{"reasoning_tokens":3},"total_tokens":16})"));
  EXPECT_FALSE(events.front()["response"].contains("usage")) << "nothing is known of it yet";
  EXPECT_EQ(events.front()["response"]["status"], "in_progress");
}

TEST(ResponsesEncoder, an_answer_cut_short_is_incomplete) {
  const auto events = events_of(with_tool, {text("Once"), finished(engine::FinishReason::length)});
  EXPECT_EQ(events.back()["type"], "response.incomplete");
  const Json& response = events.back()["response"];
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["incomplete_details"], Json({{"reason", "max_output_tokens"}}));
  EXPECT_EQ(response["output"][0]["status"], "incomplete");
}

TEST(ResponsesEncoder, says_the_requests_settings_again) {
  const Json answer = answer_of(R"({"input":"hi","instructions":"Be kind.","temperature":0.5,
      "metadata":{"a":"b"},"store":false,"tool_choice":"none","parallel_tool_calls":false,
      "reasoning":{"effort":"low"},"text":{"verbosity":"low"},"truncation":"auto","user":"u",
      "max_output_tokens":7,"tools":[{"type":"function","name":"look"},{"type":"web_search"}]})",
                                {text("x"), finished()});
  EXPECT_EQ(answer["instructions"], "Be kind.");
  EXPECT_EQ(answer["temperature"], 0.5);
  EXPECT_EQ(answer["metadata"], Json({{"a", "b"}}));
  EXPECT_EQ(answer["store"], false);
  EXPECT_EQ(answer["tool_choice"], "none");
  EXPECT_EQ(answer["parallel_tool_calls"], false);
  EXPECT_EQ(answer["reasoning"], Json::parse(R"({"effort":"low","summary":null})"));
  EXPECT_EQ(answer["text"], Json::parse(R"({"format":{"type":"text"},"verbosity":"low"})"));
  EXPECT_EQ(answer["truncation"], "auto");
  EXPECT_EQ(answer["max_output_tokens"], 7);
  EXPECT_EQ(answer["tools"], Json::parse(R"([{"type":"function","name":"look","parameters":null,
      "strict":false}])"));
}

TEST(ResponsesEncoder, reasoning_is_sealed_on_request) {
  const auto item = [](const std::string& fields) {
    return answer_of(R"({"input":"hi",)" + fields + "}",
                     {reasoning("plan"), text("x"), finished()})["output"][0];
  };
  EXPECT_FALSE(item(R"("store":true)").contains("encrypted_content"));
  EXPECT_EQ(
      reasoning_text({{"encrypted_content",
                       item(R"("include":["reasoning.encrypted_content"])")["encrypted_content"]}}),
      "plan");
}

TEST(ResponsesEncoder, silence_is_broken_by_real_events_whose_numbers_rise) {
  const auto encoder = openai_responses.encoder(
      asked(openai_responses, R"({"input":"hi","stream":true})"), testing::reply_info());
  std::string out = encoder->begin({});
  out += encoder->ping();
  out += encoder->frames({0, text("x")});
  out += encoder->ping();
  out += encoder->failure({ErrorCode::internal, "no memory", ""}, testing::some_usage());
  const auto events = testing::frames_of(out);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
  EXPECT_EQ(events[2]["type"], "response.in_progress");
  const Json& error = events[events.size() - 2];
  EXPECT_EQ(error["type"], "error");
  EXPECT_EQ(error["message"], "no memory");
  EXPECT_EQ(events.back()["type"], "response.failed");
  EXPECT_EQ(events.back()["response"]["status"], "failed");
  EXPECT_EQ(events.back()["response"]["error"],
            Json::parse(R"({"code":"server_error","message":"no memory"})"));
  EXPECT_EQ(events.back()["response"]["usage"]["output_tokens"], 7);
}

TEST(ResponsesEncoder, an_answer_of_nothing_is_one_empty_message) {
  const Json answer = answer_of(R"({"input":"hi"})", {finished()});
  ASSERT_EQ(answer["output"].size(), 1u);
  EXPECT_EQ(answer["output"][0]["content"][0]["text"], "");
}

}  // namespace
}  // namespace hearth::services
