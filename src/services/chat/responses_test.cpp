// OpenAI's Responses: requests to the neutral one, errors.
#include "services/chat/responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/chat/responses_reasoning.h"
#include "services/chat/wire_testing.h"

namespace hearth::services {
namespace {

using testing::asked;
using testing::call;
using testing::finished;
using ::testing::HasSubstr;

Result<Request> parsed(const std::string& body) {
  return openai_responses.parse(Json::parse(body), "tiny");
}

text::Conversation chat_of(const std::string& body) {
  auto request = parsed(body);
  EXPECT_TRUE(request) << request.error().message;
  return request ? std::get<text::Conversation>(request->input) : text::Conversation{};
}

std::string with(const std::string& fields) { return R"({"input":"hi",)" + fields + "}"; }

Json answered(const std::string& body, const std::vector<Event>& events) {
  return testing::whole(openai_responses, asked(openai_responses, body), events);
}

TEST(Responses, a_string_and_items_become_messages) {
  EXPECT_EQ(chat_of(R"({"input":"hi"})").messages,
            Json::parse(R"([{"role":"user","content":"hi"}])"));
  const auto chat = chat_of(R"({"instructions":"Be kind.","input":[
      {"role":"developer","content":"Be brief."},
      {"role":"user","content":[{"type":"input_text","text":"Use "},
                                {"type":"input_text","text":"look."}]},
      {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I must."}]},
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},
      {"type":"function_call","call_id":"call_1","name":"look","arguments":"{\"q\":\"x\"}"},
      {"type":"function_call","call_id":"call_2","name":"look","arguments":"{}"},
      {"type":"function_call_output","call_id":"call_1","output":"found"},
      {"type":"function_call_output","call_id":"call_2",
       "output":[{"type":"input_text","text":"more"}]},
      {"type":"web_search_call","id":"ws_1"},
      {"type":"message","role":"system","content":[{"type":"input_text","text":"Be honest."}]}]})");
  EXPECT_EQ(chat.messages, Json::parse(R"([
      {"role":"system","content":"Be kind.\n\nBe brief.\n\nBe honest."},
      {"role":"user","content":"Use look."},
      {"role":"assistant","content":"Looking.","reasoning_content":"I must.","tool_calls":[
        {"id":"call_1","type":"function","function":{"name":"look","arguments":{"q":"x"}}},
        {"id":"call_2","type":"function","function":{"name":"look","arguments":{}}}]},
      {"role":"tool","content":"found","tool_call_id":"call_1","name":"look"},
      {"role":"tool","content":"more","tool_call_id":"call_2","name":"look"}])"));
}

TEST(Responses, files_of_plain_text_are_read) {
  EXPECT_EQ(chat_of(R"({"input":[{"role":"user","content":[{"type":"input_file","filename":"a.txt",
      "file_data":"data:text/plain;base64,dHdv"}]}]})")
                .messages[0]["content"],
            "two");
}

TEST(Responses, reasoning_comes_back_from_what_was_sealed) {
  const std::string sealed = sealed_reasoning("naïve plan");
  EXPECT_EQ(reasoning_text({{"encrypted_content", sealed}, {"summary", Json::array()}}),
            "naïve plan");
  EXPECT_EQ(reasoning_text({{"encrypted_content", "gAAAAAB"},
                            {"summary", {{{"type", "summary_text"}, {"text", "short"}}}}}),
            "short");
  EXPECT_EQ(reasoning_text({{"content", {{{"type", "reasoning_text"}, {"text", "full"}}}}}),
            "full");
}

TEST(Responses, function_tools_are_flat_and_other_servers_tools_are_left_out) {
  const auto chat = chat_of(with(R"("tools":[
      {"type":"function","name":"look","description":"d","strict":true,
       "parameters":{"type":"object"}},
      {"type":"web_search"},{"type":"local_shell"},
      {"type":"namespace","name":"n","tools":[]}])"));
  EXPECT_EQ(chat.tools, Json::parse(R"([{"type":"function","function":{"name":"look",
      "description":"d","parameters":{"type":"object"},"strict":true}}])"));
  EXPECT_TRUE(chat_of(with(R"("tools":[{"type":"web_search"}])")).tools.is_null());
}

TEST(Responses, a_custom_tool_is_a_function_of_one_string_both_ways) {
  const std::string body = R"({"input":[
      {"role":"user","content":"patch"},
      {"type":"custom_tool_call","call_id":"call_1","name":"apply","input":"*** Begin"},
      {"type":"custom_tool_call_output","call_id":"call_1","output":"done"}],
      "tools":[{"type":"custom","name":"apply","description":"Applies.",
                "format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}}]})";
  const auto chat = chat_of(body);
  EXPECT_EQ(chat.messages[1]["tool_calls"][0]["function"],
            Json::parse(R"({"name":"apply","arguments":{"input":"*** Begin"}})"));
  EXPECT_EQ(chat.messages[2]["content"], "done");
  const Json& function = chat.tools[0]["function"];
  EXPECT_EQ(function["parameters"]["required"], Json::array({"input"}));
  EXPECT_THAT(function["description"].get<std::string>(), HasSubstr("lark grammar:\nstart: /x/"));
  const Json answer = answered(body, {call("call_2", "apply", R"({"input":"a\nb"})"),
                                      finished(engine::FinishReason::stop, 1)});
  EXPECT_EQ(answer["output"][0]["type"], "custom_tool_call");
  EXPECT_EQ(answer["output"][0]["input"], "a\nb");
}

TEST(Responses, tool_choice_in_every_form) {
  const std::string tools = R"("tools":[{"type":"function","name":"a"},{"type":"custom","name":"b"},
      {"type":"web_search"}],"tool_choice":)";
  const auto choice = [&](const std::string& form) {
    return asked(openai_responses, with(tools + form)).tool_choice;
  };
  EXPECT_EQ(choice(R"("auto")").mode, ToolChoice::Mode::automatic);
  EXPECT_EQ(choice(R"("none")").mode, ToolChoice::Mode::none);
  EXPECT_EQ(choice(R"("required","parallel_tool_calls":false)").mode, ToolChoice::Mode::required);
  EXPECT_FALSE(choice(R"("required","parallel_tool_calls":false)").parallel);
  EXPECT_EQ(choice(R"({"type":"custom","name":"b"})").names, std::vector<std::string>{"b"});
  const auto allowed = choice(R"({"type":"allowed_tools","mode":"required","tools":[
      {"type":"function","name":"a"},{"type":"web_search"}]})");
  EXPECT_EQ(allowed.mode, ToolChoice::Mode::required);
  EXPECT_EQ(allowed.names, std::vector<std::string>{"a"});
  EXPECT_TRUE(chat_of(with(tools + R"("none")")).tools.is_null());
}

TEST(Responses, sampling_effort_and_format) {
  const auto request =
      asked(openai_responses, with(R"("max_output_tokens":7,"temperature":0.5,"stream":true,
      "logit_bias":{"5":1},"reasoning":{"effort":"none"},
      "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}})"));
  EXPECT_EQ(request.sampling.max_tokens, 7);
  EXPECT_EQ(request.sampling.logit_bias.at(5), 1);
  EXPECT_TRUE(request.stream);
  EXPECT_EQ(std::get<text::Conversation>(request.input).kwargs, Json({{"enable_thinking", false}}));
  ASSERT_TRUE(request.constraint);
  EXPECT_EQ(request.constraint->kind, Constraint::Kind::json_schema);
  EXPECT_TRUE(request.constraint->strict);
  EXPECT_EQ(asked(openai_responses, with(R"("max_tokens":9)")).sampling.max_tokens, 9);
  EXPECT_EQ(
      asked(openai_responses, with(R"("text":{"format":{"type":"json_object"}})")).constraint->kind,
      Constraint::Kind::json_object);
  EXPECT_FALSE(asked(openai_responses, with(R"("text":{"format":{"type":"text"}})")).constraint);
}

TEST(Responses, a_probe_of_nothing_is_a_question_but_otherwise_input_is_required) {
  EXPECT_EQ(chat_of(R"({"input":"","max_output_tokens":1})").messages,
            Json::parse(R"([{"role":"user","content":""}])"));
  EXPECT_EQ(chat_of(R"({"input":[],"max_output_tokens":1})").messages.size(), 1u);
  EXPECT_FALSE(parsed(R"({"input":[]})"));
  EXPECT_FALSE(parsed(R"({"instructions":"x"})"));
}

TEST(Responses, what_is_wrong_is_named) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"input":5})", "`input`"},
      {R"({"input":["hi"]})", "input[0]"},
      {R"({"input":[{"x":1}]})", "input[0]"},
      {R"({"input":[{"role":"robot","content":"x"}]})", "input[0].role"},
      {R"({"input":[{"role":"developer","content":"d"},{"role":"user","content":[
           {"type":"input_image","image_url":"data:image/png;base64,AA"}]}]})",
       "input[1].content[0]: tiny takes text only"},
      {R"({"input":[{"role":"user","content":[{"type":"input_file","file_data":
           "data:application/pdf;base64,AA"}]}]})",
       "input[0].content[0].file_data"},
      {R"({"input":[{"type":"function_call","name":"f","arguments":"{}"}]})", "input[0].call_id"},
      {R"({"input":[{"type":"function_call_output","call_id":"c"}]})", "input[0].output"},
      {R"({"input":[{"type":"item_reference","id":"msg_1"}]})", "item references"},
      {with(R"("previous_response_id":{})"), "previous_response_id"},
      {with(R"("background":true)"), "`background` is not supported"},
      {with(R"("conversation":"c")"), "`conversation` is not supported"},
      {with(R"("prompt":{"id":"p"})"), "`prompt` is not supported"},
      {with(R"("tools":[{"name":"f"}])"), "tools[0]"},
      {with(R"("tools":[{"type":"function"}])"), "tools[0].name"},
      {with(R"("tool_choice":"must")"), "tool_choice"},
      {with(R"("tool_choice":"required")"), "no tools"},
      {with(R"("tool_choice":{"type":"function","name":"g"})"), "\"g\""},
      {with(R"("reasoning":{"effort":"hihg"})"), "none, minimal, low, medium, high, xhigh, max"},
      {with(R"("text":{"format":{"type":"xml"}})"), "text.format"},
      {with(R"("text":{"format":{"type":"json_schema"}})"), "text.format.schema"},
      {with(R"("max_output_tokens":0)"), "max_output_tokens"},
      {with(R"("truncation":"some")"), "truncation"},
      {with(R"("store":"yes")"), "store"},
      {with(R"("instructions":["x"])"), "instructions"},
  };
  for (const auto& [body, named] : cases) {
    const auto request = parsed(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, ErrorCode::invalid_request) << body;
    EXPECT_THAT(request.error().message, HasSubstr(named)) << body;
  }
}

TEST(ResponsesError, tells_whose_fault_it_is) {
  const auto told = [](Error error) {
    const Json body = responses_error(error)["error"];
    return body["type"].get<std::string>() + "/" + body["code"].dump();
  };
  EXPECT_EQ(told({ErrorCode::invalid_request, "m", "background"}),
            "invalid_request_error/\"unsupported_parameter\"");
  EXPECT_EQ(told({ErrorCode::not_found, "m", "previous_response_id"}),
            "invalid_request_error/\"response_not_found\"");
  EXPECT_EQ(told({ErrorCode::context_overflow, "m", ""}),
            "invalid_request_error/\"context_length_exceeded\"");
  EXPECT_EQ(told({ErrorCode::context_overflow, "m", "--memory-budget"}),
            "invalid_request_error/\"context_over_budget\"");
  EXPECT_EQ(told({ErrorCode::invalid_schema, "m", "text.format.schema"}),
            "invalid_request_error/\"invalid_json_schema\"");
  EXPECT_EQ(told({ErrorCode::invalid_request, "m", "input"}), "invalid_request_error/null");
  EXPECT_EQ(told({ErrorCode::internal, "m", ""}), "server_error/null");
}

}  // namespace
}  // namespace hearth::services
