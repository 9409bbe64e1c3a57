#include "services/chat/normalise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hearth::services {
namespace {

Result<Json> normalise(std::string_view messages) {
  const Json json = Json::parse(messages);
  return normalise_messages(&json, "tiny");
}

std::string content(std::string_view message) {
  const auto out = normalise(fmt::format("[{}]", message));
  return out ? (*out)[0]["content"].get<std::string>() : "error: " + out.error().message;
}

TEST(Normalise, null_absent_empty_and_no_parts_are_alike) {
  EXPECT_EQ(content(R"({"role":"assistant","content":null})"), "");
  EXPECT_EQ(content(R"({"role":"assistant"})"), "");
  EXPECT_EQ(content(R"({"role":"assistant","content":""})"), "");
  EXPECT_EQ(content(R"({"role":"assistant","content":[]})"), "");
}

TEST(Normalise, text_parts_are_joined_in_order) {
  EXPECT_EQ(content(R"({"role":"user","content":[{"type":"text","text":"heron, "},
                        {"type":"input_text","text":"quartz, "},"lantern"]})"),
            "heron, quartz, lantern");
}

TEST(Normalise, developer_is_system_and_function_is_tool) {
  const auto out = normalise(R"([{"role":"developer","content":"a"},{"role":"function","name":"f",
                                  "content":"b"}])");
  EXPECT_EQ((*out)[0]["role"], "system");
  EXPECT_EQ((*out)[1]["role"], "tool");
  EXPECT_EQ((*out)[1]["name"], "f");
}

TEST(Normalise, arguments_become_objects) {
  const auto call = [](const std::string& arguments) {
    const auto out = normalise(R"([{"role":"assistant","tool_calls":[{"id":"c","type":"function",
        "function":{"name":"f","arguments":)" +
                               arguments + "}}]}]");
    return out ? (*out)[0]["tool_calls"][0]["function"]["arguments"].dump() : out.error().message;
  };
  EXPECT_EQ(call(R"("{\"bay\":7}")"), R"({"bay":7})");
  EXPECT_EQ(call(R"({"bay":7})"), R"({"bay":7})");
  EXPECT_EQ(call(R"("")"), "{}");
  EXPECT_EQ(call(R"("{\"bay\":")"), R"({"arguments":"{\"bay\":"})") << "a cut-off call is kept";
}

TEST(Normalise, a_tool_result_gets_the_name_of_its_call) {
  const auto out = normalise(R"([
    {"role":"assistant","tool_calls":[{"id":"c9","function":{"name":"ping","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c9","content":[{"type":"text","text":"pong-"},
                                                  {"type":"text","text":"5512"}]}])");
  EXPECT_EQ((*out)[1]["name"], "ping");
  EXPECT_EQ((*out)[1]["content"], "pong-5512");
}

TEST(Normalise, the_older_function_call_is_a_tool_call) {
  const auto out = normalise(
      R"([{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}])");
  EXPECT_EQ((*out)[0]["tool_calls"][0]["function"]["name"], "f");
}

struct Refused {
  const char* messages;
  const char* param;
  const char* words;
};

TEST(Normalise, refuses_what_it_cannot_keep_and_says_where) {
  const Refused table[] = {
      {"[]", "messages", "messages required"},
      {"\"hi\"", "messages", "expected an array"},
      {"[3]", "messages[0].role", "expected an object"},
      {R"([{"content":"x"}])", "messages[0].role", "expected system"},
      {R"([{"role":"user","content":"x"},{"role":"narrator"}])", "messages[1].role", "narrator"},
      {R"([{"role":"user","content":5}])", "messages[0].content", "expected a string or an array"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
       "messages[0].content[0]", "tiny takes text only"},
      {R"([{"role":"user","content":[{"type":"input_audio"}]}])", "messages[0].content[0]",
       "input_audio"},
      {R"([{"role":"user","content":[{"type":"text","text":5}]}])", "messages[0].content[0].text",
       "expected a string"},
      {R"([{"role":"assistant","tool_calls":[{"id":"c"}]}])", "messages[0].tool_calls[0]",
       "expected"},
  };
  for (const auto& row : table) {
    const auto out = normalise(row.messages);
    ASSERT_FALSE(out) << row.messages;
    EXPECT_EQ(out.error().code, ErrorCode::invalid_request);
    EXPECT_EQ(out.error().param, row.param) << row.messages;
    EXPECT_NE(out.error().message.find(row.words), std::string::npos) << out.error().message;
  }
}

TEST(Normalise, tools_must_be_named_functions) {
  const auto tools = [](const char* text) { return normalise_tools(Json::parse(text)); };
  EXPECT_TRUE(tools(R"([{"type":"function","function":{"name":"f"}}])"));
  EXPECT_TRUE(tools("[]")->is_null());
  EXPECT_EQ(tools(R"([{"type":"function","function":{}}])").error().param, "tools[0]");
  EXPECT_EQ(tools(R"([{"type":"function","function":{"name":"f","parameters":[]}}])").error().param,
            "tools[0].function.parameters");
}

}  // namespace
}  // namespace hearth::services
