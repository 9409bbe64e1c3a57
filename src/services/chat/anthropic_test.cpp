// Anthropic's Messages: requests to the neutral one, errors.
#include "services/chat/anthropic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::services {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace hearth::services
