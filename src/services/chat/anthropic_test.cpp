// Anthropic's Messages: requests to the neutral one, events to frames and message.
#include "services/chat/anthropic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/chat/wire_testing.h"

namespace hearth::services {
namespace {

using testing::call;
using testing::finished;
using ::testing::HasSubstr;
using testing::reasoning;
using testing::text;

Result<Request> parsed(const std::string& body) {
  return anthropic_messages.parse(Json::parse(body), "tiny");
}

text::Conversation chat_of(const std::string& body) {
  auto request = parsed(body);
  EXPECT_TRUE(request) << request.error().message;
  return request ? std::get<text::Conversation>(request->input) : text::Conversation{};
}

/// The body with one user message and these fields.
std::string with(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

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

TEST(Messages, system_blocks_are_joined_in_order_without_the_billing_header) {
  const auto chat = chat_of(R"({"system":[
      {"type":"text","text":"x-anthropic-billing-header: cc_version=2; cch=1a2b;"},
      {"type":"text","text":"A","cache_control":{"type":"ephemeral"}},{"type":"text","text":"B"}],
      "messages":[{"role":"user","content":"go"},{"role":"system","content":"late"}]})");
  EXPECT_EQ(chat.messages, Json::parse(R"([{"role":"system","content":"A\nB"},
      {"role":"user","content":"go"},{"role":"system","content":"late"}])"));
  EXPECT_EQ(chat_of(R"({"system":"Plain.","messages":[{"role":"user","content":"go"}]})")
                .messages[0]["content"],
            "Plain.");
}

TEST(Messages, tool_turns_become_openais_with_thinking_kept_and_errors_shown) {
  const auto chat = chat_of(R"({"messages":[
      {"role":"user","content":"go"},
      {"role":"assistant","content":[
        {"type":"thinking","thinking":"t","signature":"from-elsewhere"},
        {"type":"redacted_thinking","data":"zz"},
        {"type":"text","text":"I "},{"type":"text","text":"look."},
        {"type":"tool_use","id":"toolu_1","name":"look","input":{"q":"x"}}]},
      {"role":"user","content":[
        {"type":"tool_result","tool_use_id":"toolu_1","is_error":true,
         "content":[{"type":"text","text":"no such"},{"type":"text","text":"page"}]},
        {"type":"future_block","x":1},
        {"type":"text","text":"continue"},{"type":"text","text":"please"}]}],
      "tools":[{"name":"look","input_schema":{"type":"object"}}]})");
  EXPECT_EQ(chat.messages, Json::parse(R"([
      {"role":"user","content":"go"},
      {"role":"assistant","content":"I look.","reasoning_content":"t","tool_calls":[
        {"id":"toolu_1","type":"function","function":{"name":"look","arguments":{"q":"x"}}}]},
      {"role":"tool","content":"Error: no such\npage","tool_call_id":"toolu_1","name":"look"},
      {"role":"user","content":"continue\nplease"}])"));
}

TEST(Messages, a_result_without_its_call_is_passed_on) {
  const auto chat = chat_of(R"({"messages":[{"role":"user","content":[
      {"type":"tool_result","tool_use_id":"toolu_9","content":"42"}]}]})");
  EXPECT_EQ(chat.messages,
            Json::parse(R"([{"role":"tool","content":"42","tool_call_id":"toolu_9"}])"));
}

TEST(Messages, documents_are_read_as_text) {
  const auto chat = chat_of(R"({"messages":[{"role":"user","content":[
      {"type":"document","title":"Notes","source":
        {"type":"text","media_type":"text/plain","data":"one"}},
      {"type":"document","source":{"type":"base64","media_type":"text/plain","data":"dHdv"}},
      {"type":"document","source":{"type":"content","content":[{"type":"text","text":"three"}]}},
      {"type":"search_result","title":"Found","source":"https://a.example",
       "content":[{"type":"text","text":"four"}]}]}]})");
  EXPECT_EQ(chat.messages[0]["content"], "Notes\none\ntwo\nthree\nFound\nhttps://a.example\nfour");
}

TEST(Messages, tools_without_name_or_schema_are_the_servers_and_left_out) {
  const auto chat = chat_of(with(R"("tools":[
      {"type":"web_search_20250305","name":"web_search"},
      {"name":"look","description":"d","input_schema":{"type":"object"},"strict":true,
       "cache_control":{"type":"ephemeral"}}])"));
  EXPECT_EQ(chat.tools, Json::parse(R"([{"type":"function","function":{"name":"look",
      "parameters":{"type":"object"},"description":"d","strict":true}}])"));
}

TEST(Messages, tool_choice_in_every_form) {
  const std::string tools = R"("tools":[{"name":"a","input_schema":{}},{"name":"b",
      "input_schema":{}}],"tool_choice":)";
  const auto choice = [&](const std::string& form) {
    auto request = parsed(with(tools + form));
    EXPECT_TRUE(request) << request.error().message;
    return request ? request->tool_choice : ToolChoice{};
  };
  EXPECT_EQ(choice(R"({"type":"auto"})").mode, ToolChoice::Mode::automatic);
  EXPECT_EQ(choice(R"({"type":"any"})").mode, ToolChoice::Mode::required);
  const auto named = choice(R"({"type":"tool","name":"b","disable_parallel_tool_use":true})");
  EXPECT_EQ(named.mode, ToolChoice::Mode::required);
  EXPECT_EQ(named.names, std::vector<std::string>{"b"});
  EXPECT_FALSE(named.parallel);
  EXPECT_EQ(choice(R"({"type":"none"})").mode, ToolChoice::Mode::none);
  EXPECT_TRUE(chat_of(with(tools + R"({"type":"none"})")).tools.is_null());
}

TEST(Messages, thinking_and_effort_steer_the_template) {
  const auto kwargs = [](const std::string& fields) { return chat_of(with(fields)).kwargs; };
  EXPECT_EQ(kwargs(R"("max_tokens":5)"), Json::object());
  EXPECT_EQ(kwargs(R"("thinking":{"type":"adaptive"})"), Json({{"enable_thinking", true}}));
  EXPECT_EQ(kwargs(R"("thinking":{"type":"disabled"},"output_config":{"effort":"high"})"),
            Json({{"enable_thinking", false}, {"reasoning_effort", "xhigh"}}));
  EXPECT_EQ(kwargs(R"("output_config":{"effort":"low"})"),
            Json({{"enable_thinking", true}, {"reasoning_effort", "low"}}));
  EXPECT_EQ(kwargs(R"("chat_template_kwargs":{"enable_thinking":false},
                      "thinking":{"type":"enabled","budget_tokens":1024})"),
            Json({{"enable_thinking", false}}));
  EXPECT_EQ(parsed(with(R"("thinking":{"type":"enabled","budget_tokens":1024})"))->thinking_budget,
            1024);
}

TEST(Messages, sampling_stops_and_schema) {
  const auto request = parsed(with(R"("max_tokens":30,"temperature":0.5,"top_k":3,"stream":true,
      "stop_sequences":["END",""],"logit_bias":{"x":1},"metadata":{"user_id":"u"},
      "output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}})"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->sampling.max_tokens, 30);
  EXPECT_EQ(request->sampling.top_k, 3);
  EXPECT_TRUE(request->sampling.logit_bias.empty());
  EXPECT_EQ(request->stop, std::vector<std::string>{"END"});
  EXPECT_TRUE(request->stream);
  ASSERT_TRUE(request->constraint);
  EXPECT_TRUE(request->constraint->strict);
  EXPECT_EQ(request->constraint->schema, Json({{"type", "object"}}));
  EXPECT_TRUE(parsed(with(R"("output_format":{"type":"json_schema","schema":true})"))->constraint);
}

TEST(Messages, a_last_turn_of_the_models_own_is_gone_on_from) {
  const auto ends_with = [](const std::string& last) {
    return chat_of(R"({"messages":[{"role":"user","content":"hi"},)" + last + "]}");
  };
  const auto continued = ends_with(R"({"role":"assistant","content":"The capital is"})");
  EXPECT_TRUE(continued.continue_final_message);
  EXPECT_FALSE(continued.add_generation_prompt);
  const auto empty = ends_with(R"({"role":"assistant","content":[]})");
  EXPECT_EQ(empty.messages.size(), 1u);
  EXPECT_TRUE(empty.add_generation_prompt);
  EXPECT_FALSE(ends_with(R"({"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f",
      "input":{}}]})")
                   .continue_final_message);
}

TEST(Messages, what_is_wrong_is_named) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"messages":[]})", "messages required"},
      {R"({})", "messages required"},
      {R"({"messages":["hi"]})", "messages[0]"},
      {R"({"messages":[{"role":"tool","content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})", "messages[0].content[0]"},
      {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})",
       "messages[0].content[0].text"},
      {R"({"system":"s","messages":[{"role":"user","content":[{"type":"image","source":
           {"type":"base64","media_type":"image/png","data":"AA"}}]}]})",
       "messages[0].content[0]: tiny takes text only"},
      {R"({"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file"}}]}]})",
       "messages[0].content[0].source.type"},
      {R"({"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image",
           "source":{"type":"url","url":"http://a.example/x.png"}}]}]}]})",
       "tiny takes text only"},
      {R"({"messages":[{"role":"user","content":[{"type":"input_audio"}]}]})",
       "/v1/chat/completions"},
      {R"({"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64",
           "media_type":"application/pdf","data":"AA"}}]}]})",
       "plain text"},
      {with(R"("system":7)"), "`system`"},
      {with(R"("system":[{"type":"image"}])"), "system[0]"},
      {with(R"("tools":{})"), "`tools`"},
      {with(R"("tools":[{"name":"f","input_schema":7}])"), "tools[0].input_schema"},
      {with(R"("tool_choice":"auto")"), "`tool_choice`"},
      {with(R"("tool_choice":{"type":"any"})"), "no tools"},
      {with(R"("tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"g"})"),
       "\"g\""},
      {with(R"("thinking":{"type":"on"})"), "thinking.type"},
      {with(R"("thinking":{"type":"enabled","budget_tokens":0})"), "thinking.budget_tokens"},
      {with(R"("output_config":{"effort":"hihg"})"), "low, medium, high, xhigh, max"},
      {with(R"("output_config":{"format":{"type":"xml"}})"), "output_config.format"},
      {with(R"("output_format":{"type":"json_schema","schema":[]})"), "output_format.schema"},
      {with(R"("temperature":-1)"), "temperature"},
      {with(R"("max_tokens":0)"), "max_tokens"},
      {with(R"("stop_sequences":"x")"), "stop_sequences"},
      {with(R"("adapter":"mine")"), "adapter"},
  };
  for (const auto& [body, named] : cases) {
    const auto request = parsed(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, ErrorCode::invalid_request) << body;
    EXPECT_THAT(request.error().message, HasSubstr(named)) << body;
  }
}

TEST(MessagesError, each_code_has_anthropics_type) {
  const std::pair<ErrorCode, std::string> types[] = {
      {ErrorCode::invalid_request, "invalid_request_error"},
      {ErrorCode::context_overflow, "invalid_request_error"},
      {ErrorCode::invalid_schema, "invalid_request_error"},
      {ErrorCode::unauthorized, "authentication_error"},
      {ErrorCode::forbidden, "permission_error"},
      {ErrorCode::not_found, "not_found_error"},
      {ErrorCode::too_large, "request_too_large"},
      {ErrorCode::overloaded, "rate_limit_error"},
      {ErrorCode::internal, "api_error"},
  };
  for (const auto& [code, type] : types) {
    EXPECT_EQ(anthropic_error({code, "m", ""}),
              Json({{"type", "error"}, {"error", {{"type", type}, {"message", "m"}}}}));
  }
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
  EXPECT_EQ(delta["delta"], Json({{"stop_reason", "end_turn"}, {"stop_sequence", nullptr}}));
  EXPECT_EQ(delta["usage"], Json::parse(R"({"input_tokens":5,"cache_creation_input_tokens":0,
      "cache_read_input_tokens":4,"output_tokens":7,
      "output_tokens_details":{"thinking_tokens":3}})"));
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
            Json::parse(R"({"type":"tool_use","id":"mine","name":"look","input":{}})"));
  EXPECT_EQ(body["stop_reason"], "tool_use");
}

TEST(MessagesEncoder, an_answer_of_nothing_is_one_empty_text_block) {
  const Json body = testing::whole(anthropic_messages, {}, {finished()});
  EXPECT_EQ(body["content"], Json::parse(R"([{"type":"text","text":""}])"));
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
