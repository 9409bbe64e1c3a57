#include "services/chat/options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "services/chat/protocol.h"

namespace hearth::services {
namespace {

Result<Request> chat(const std::string& fields) {
  const Json body = Json::parse(R"({"messages":[{"role":"user","content":"hi"}])" + fields + "}");
  return openai_chat.parse(body, "tiny");
}

TEST(Options, null_is_absent) {
  const auto request = chat(R"(,"temperature":null,"top_p":null,"max_tokens":null,"stop":null,
      "max_completion_tokens":null,"seed":null,"n":null,"tools":null,"tool_choice":null,
      "logit_bias":null,"response_format":null,"stream":null,"stream_options":null,"logprobs":null,
      "user":null,"store":false,"metadata":{},"reasoning_effort":null,"made_up_field":1)");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_FALSE(request->sampling.temperature);
  EXPECT_FALSE(request->stream);
  EXPECT_EQ(request->n, 1);
  EXPECT_EQ(request->top_logprobs, -1);
}

TEST(Options, reads_every_sampling_field) {
  const auto request = chat(R"(,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"seed":-3,
      "repetition_penalty":1.1,"max_tokens":9,"logit_bias":{"5":-1.5},"stop":["a","","b"])");
  ASSERT_TRUE(request) << request.error().message;
  const auto& s = request->sampling;
  EXPECT_FLOAT_EQ(*s.temperature, 0.5f);
  EXPECT_FLOAT_EQ(*s.top_p, 0.9f);
  EXPECT_EQ(*s.top_k, 40);
  EXPECT_EQ(*s.max_tokens, 9);
  EXPECT_EQ(*s.seed, std::uint64_t(-3));
  EXPECT_EQ(s.logit_bias, (std::map<text::TokenId, float>{{5, -1.5f}}));
  EXPECT_EQ(request->stop, (std::vector<std::string>{"a", "b"}));
}

TEST(Options, max_completion_tokens_wins) {
  EXPECT_EQ(chat(R"(,"max_tokens":9,"max_completion_tokens":4)")->sampling.max_tokens, 4);
  EXPECT_EQ(chat(R"(,"max_tokens":5.0)")->sampling.max_tokens, 5) << "5.0 is a whole number";
}

TEST(Options, logprobs_and_their_words) {
  EXPECT_EQ(chat(R"(,"logprobs":true)")->top_logprobs, 0);
  EXPECT_EQ(chat(R"(,"logprobs":true,"top_logprobs":20)")->top_logprobs, 20);
  EXPECT_EQ(chat(R"(,"top_logprobs":-1)")->top_logprobs, -1);
  EXPECT_EQ(chat(R"(,"logprobs":1)").error().message, "logprobs must be of type bool");
  EXPECT_EQ(chat(R"(,"top_logprobs":"x")").error().message, "top_logprobs must be of type int");
  EXPECT_EQ(chat(R"(,"top_logprobs":-2)").error().message, "top_logprobs must be at least 0");
  EXPECT_EQ(chat(R"(,"top_logprobs":21)").error().message, "top_logprobs must be at most 20");
}

TEST(Options, thinking_follows_kwargs_then_effort) {
  const auto thinking = [](const std::string& fields) {
    const auto request = chat(fields);
    return std::get<text::Conversation>(request->input).kwargs.value("enable_thinking", Json());
  };
  EXPECT_EQ(thinking(R"(,"reasoning_effort":"none")"), false);
  EXPECT_EQ(thinking(R"(,"reasoning_effort":"low")"), true);
  EXPECT_EQ(thinking(R"(,"reasoning_effort":"high",
                        "chat_template_kwargs":{"enable_thinking":false})"),
            false);
  EXPECT_EQ(thinking(""), Json());
}

TEST(Options, tool_choice_none_takes_the_tools_away) {
  const std::string tools = R"(,"tools":[{"type":"function","function":{"name":"f"}}])";
  const auto sent = [](const Result<Request>& request) {
    return std::get<text::Conversation>(request->input).tools;
  };
  EXPECT_EQ(sent(chat(tools)).size(), 1u);
  EXPECT_TRUE(sent(chat(tools + R"(,"tool_choice":"none")")).is_null());
}

struct RefusedOption {
  const char* field;
  const char* param;
  const char* words;
};

TEST(Options, wrong_values_name_field_value_and_range) {
  const RefusedOption table[] = {
      {R"("temperature":-1)", "temperature",
       "`temperature` is -1, expected a number of at least 0"},
      {R"("temperature":"hot")", "temperature", "\"hot\""},
      {R"("temperature":true)", "temperature", "true"},
      {R"("temperature":1e300)", "temperature", "1e+300"},
      {R"("top_p":1.5)", "top_p", "from 0 to 1"},
      {R"("top_k":-1)", "top_k", "an integer from 0"},
      {R"("top_k":1.5)", "top_k", "1.5"},
      {R"("min_p":2)", "min_p", "from 0 to 1"},
      {R"("xtc_threshold":0.6)", "xtc_threshold", "from 0 to 0.5"},
      {R"("max_tokens":0)", "max_tokens", "from 1"},
      {R"("max_tokens":-3)", "max_tokens", "-3"},
      {R"("max_completion_tokens":2.5)", "max_completion_tokens", "2.5"},
      {R"("n":0)", "n", "from 1 to 8"},
      {R"("n":9)", "n", "from 1 to 8"},
      {R"("stream":"yes")", "stream", "true or false"},
      {R"("stream_options":5)", "stream_options", "object"},
      {R"("stream_options":{"include_usage":5})", "stream_options.include_usage", "true or false"},
      {R"("seed":"x")", "seed", "64 bits"},
      {R"("seed":1.5)", "seed", "64 bits"},
      {R"("stop":5)", "stop", "a string"},
      {R"("stop":[5])", "stop", "a string"},
      {R"("logit_bias":[1])", "logit_bias", "logit_bias must be a dict of int to float"},
      {R"("logit_bias":{"x":1})", "logit_bias", "logit_bias must be a dict of int to float"},
      {R"("logit_bias":{"5":"x"})", "logit_bias", "logit_bias must be a dict of int to float"},
      {R"("reasoning_effort":"hihg")", "reasoning_effort",
       "none, minimal, low, medium, high, xhigh"},
      {R"("response_format":"json")", "response_format", "object"},
      {R"("tools":{})", "tools", "an array"},
      {R"("tool_choice":"required")", "tool_choice", "has no tools"},
      {R"("modalities":["text","audio"])", "modalities", "text"},
      {R"("adapter":"mine")", "adapter", "no adapter"},
      {R"("chat_template_kwargs":[])", "chat_template_kwargs", "an object"},
      {R"("chat_template_kwargs":{"enable_thinking":"no"})", "chat_template_kwargs.enable_thinking",
       "true or false"},
  };
  for (const auto& row : table) {
    const auto request = chat(fmt::format(",{}", row.field));
    ASSERT_FALSE(request) << row.field;
    EXPECT_EQ(request.error().code, ErrorCode::invalid_request);
    EXPECT_EQ(request.error().param, row.param) << row.field;
    EXPECT_NE(request.error().message.find(row.words), std::string::npos)
        << row.field << ": " << request.error().message;
  }
}

TEST(Options, at_most_64_stop_strings) {
  const Json body{{"stop", std::vector<std::string>(65, "x")}};
  EXPECT_NE(read_stop(body).error().message.find("65"), std::string::npos);
}

TEST(Completions, takes_the_four_shapes_of_a_prompt) {
  const auto parse = [](const char* prompt) {
    return openai_completions.parse(Json::parse(std::string(R"({"prompt":)") + prompt + "}"), "m");
  };
  EXPECT_EQ(std::get<std::string>(parse(R"("hi")")->input), "hi");
  EXPECT_EQ(parse(R"(["a","b","c"])")->choices(), 3);
  EXPECT_EQ(std::get<std::vector<text::TokenId>>(parse("[1,2]")->input).size(), 2u);
  EXPECT_EQ(parse("[[1,2],[3]]")->choices(), 2);
  for (const char* wrong : {"null", "\"\"", "[]", "{}", "5", "[\"\"]", "[[]]", "[1,-2]", "[1.5]",
                            "[true]", "[\"a\",5]"}) {
    const auto refused = parse(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_TRUE(refused.error().param.starts_with("prompt")) << wrong;
  }
}

TEST(Completions, refuses_what_it_cannot_do) {
  const auto param = [](const char* fields) {
    const auto parsed =
        openai_completions.parse(Json::parse(std::string(R"({"prompt":"x",)") + fields + "}"), "m");
    return parsed ? "none" : parsed.error().param;
  };
  EXPECT_EQ(param(R"("suffix":"end")"), "suffix");
  EXPECT_EQ(param(R"("suffix":"")"), "none");
  EXPECT_EQ(param(R"("best_of":2)"), "best_of");
  EXPECT_EQ(param(R"("best_of":2,"n":2)"), "none");
  EXPECT_EQ(param(R"("echo":1)"), "echo");
  EXPECT_EQ(param(R"("logprobs":21)"), "logprobs");
}

}  // namespace
}  // namespace hearth::services
