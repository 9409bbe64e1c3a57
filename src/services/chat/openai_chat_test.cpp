// /v1/chat/completions from body to answer, on a scripted model: tools, reasoning, their streams.
#include <gtest/gtest.h>

#include "services/chat/protocol.h"
#include "services/chat/scripted_model.h"

namespace hearth::services {
namespace {

const char* const tools = R"([{"type":"function","function":{"name":"read","parameters":{
  "type":"object","properties":{"p":{"type":"string"}}}}},
  {"type":"function","function":{"name":"stat"}}])";

Json body_with(const std::string& more) {
  Json body = Json::parse(R"({"messages":[{"role":"user","content":"go"}]})");
  body.update(Json::parse(more));
  return body;
}

Json with_tools(const std::string& more = "{}") {
  Json body = body_with(more);
  body["tools"] = Json::parse(tools);
  return body;
}

/// What a request is answered with when the model says `output`.
struct Exchange {
  Json body;                 // not streamed
  std::vector<Json> deltas;  // streamed: choices[0] of each chunk
  std::string prompt;
};

std::vector<Json> deltas_of(const std::string& frames) {
  std::vector<Json> out;
  for (std::size_t at = 0; (at = frames.find("data: {", at)) != frames.npos; ++at) {
    const auto end = frames.find("\n\n", at);
    out.push_back(Json::parse(frames.substr(at + 6, end - at - 6))["choices"][0]);
  }
  return out;
}

Exchange ask(Json body, const std::string& output,
             engine::FinishReason reason = engine::FinishReason::stop) {
  Exchange out;
  for (const bool stream : {false, true}) {
    body["stream"] = stream;
    auto request = openai_chat.parse(body, "scripted");
    EXPECT_TRUE(request) << request.error().message;
    const auto model = testing::scripted_model([&](testing::ScriptedRow& row) -> Result<void> {
      out.prompt.assign(row.job.prompt.begin(), row.job.prompt.end());
      row.say(output);
      row.finish(reason);
      return {};
    });
    auto answer = Answer::start(model, *request, {});
    EXPECT_TRUE(answer) << answer.error().message;
    const auto encoder = openai_chat.encoder(
        *request, {"scripted", "fp_00000001", 1700000000, model->tokenizer.get()});
    std::string frames = encoder->begin({});
    for (const auto& event : (*answer)->poll()) frames += encoder->frames(event);
    if (stream)
      out.deltas = deltas_of(frames + encoder->end((*answer)->usage()));
    else
      out.body = encoder->body((*answer)->usage());
  }
  return out;
}

std::string call(const std::string& name, const std::string& arguments) {
  return "<tool_call>{\"name\":\"" + name + "\",\"arguments\":" + arguments + "}</tool_call>";
}

const char* const custom_tools =
    R"([{"type":"custom","custom":{"name":"sh","description":"A shell."}},
  {"type":"function","function":{"name":"stat"}}])";

TEST(OpenAiChat, a_custom_tool_is_called_with_text) {
  Json body = body_with("{}");
  body["tools"] = Json::parse(custom_tools);
  const auto got = ask(body, call("sh", R"({"input":"ls \"a\"\n"})") + call("stat", "{}"));
  const Json& calls = got.body["choices"][0]["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["type"], "custom");
  EXPECT_EQ(calls[0]["custom"], Json::parse(R"({"name":"sh","input":"ls \"a\"\n"})"));
  EXPECT_FALSE(calls[0].contains("function"));
  EXPECT_EQ(calls[1]["type"], "function");
  EXPECT_EQ(got.body["choices"][0]["finish_reason"], "tool_calls");

  std::string name, input;
  for (const Json& choice : got.deltas) {
    for (const Json& part : choice["delta"].value("tool_calls", Json::array())) {
      if (part["index"] != 0) continue;
      name += part["custom"].value("name", "");
      input += part["custom"]["input"].get<std::string>();
    }
  }
  EXPECT_EQ(name, "sh");
  EXPECT_EQ(input, "ls \"a\"\n");
}

TEST(OpenAiChat, a_custom_tools_call_is_told_to_the_model_as_a_functions) {
  const auto request = openai_chat.parse(
      body_with(R"({"messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,
          "tool_calls":[{"id":"call_1","type":"custom","custom":{"name":"sh","input":"ls"}}]},
          {"role":"tool","tool_call_id":"call_1","content":"a"}]})"),
      "scripted");
  ASSERT_TRUE(request) << request.error().message;
  const auto& chat = std::get<text::Conversation>(request->input);
  EXPECT_EQ(chat.messages[1]["tool_calls"][0], Json::parse(R"({"id":"call_1","type":"function",
                            "function":{"name":"sh","arguments":{"input":"ls"}}})"));
  EXPECT_EQ(chat.messages[2]["name"], "sh");
}

TEST(OpenAiChat, tool_choice_names_a_custom_tool) {
  Json body = body_with(R"({"tool_choice":{"type":"custom","custom":{"name":"sh"}}})");
  body["tools"] = Json::parse(custom_tools);
  const auto request = openai_chat.parse(body, "scripted");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->tool_choice.names, std::vector<std::string>{"sh"});
  EXPECT_EQ(request->tool_choice.mode, ToolChoice::Mode::required);
  body["tool_choice"]["custom"]["name"] = "zsh";
  EXPECT_EQ(openai_chat.parse(body, "scripted").error().param, "tool_choice");
  body["tools"][0]["custom"].erase("name");
  EXPECT_EQ(openai_chat.parse(body, "scripted").error().param, "tools[0].custom.name");
}

TEST(OpenAiChat, three_calls_streamed_and_whole) {
  const auto got = ask(with_tools(), "Checking." + call("read", R"({"p":"a"})") +
                                         call("read", R"({"p":"b"})") + call("stat", "{}"));
  const Json& message = got.body["choices"][0]["message"];
  EXPECT_EQ(message["content"], "Checking.");
  ASSERT_EQ(message["tool_calls"].size(), 3u);
  EXPECT_EQ(message["tool_calls"][1]["function"],
            Json::parse(R"({"name":"read","arguments":"{\"p\":\"b\"}"})"));
  EXPECT_EQ(message["tool_calls"][2]["function"]["arguments"], "{}");
  EXPECT_EQ(got.body["choices"][0]["finish_reason"], "tool_calls");

  std::map<int, std::string> arguments, names;
  for (const Json& choice : got.deltas) {
    for (const Json& part : choice["delta"].value("tool_calls", Json::array())) {
      const int index = part["index"];
      if (part.contains("id")) {
        EXPECT_FALSE(names.contains(index));
        EXPECT_EQ(part["type"], "function");
        names[index] = part["function"]["name"];
      } else {
        EXPECT_TRUE(names.contains(index));
        EXPECT_FALSE(part["function"].contains("name"));
      }
      arguments[index] += part["function"]["arguments"].get<std::string>();
    }
  }
  EXPECT_EQ(names, (std::map<int, std::string>{{0, "read"}, {1, "read"}, {2, "stat"}}));
  EXPECT_EQ(arguments,
            (std::map<int, std::string>{{0, R"({"p":"a"})"}, {1, R"({"p":"b"})"}, {2, "{}"}}));
  EXPECT_EQ(got.deltas.back()["finish_reason"], "tool_calls");
}

TEST(OpenAiChat, an_answer_of_calls_alone_has_null_content) {
  const auto got = ask(with_tools(), call("stat", "{}"));
  EXPECT_TRUE(got.body["choices"][0]["message"]["content"].is_null());
}

TEST(OpenAiChat, length_wins_over_calls) {
  const auto got = ask(with_tools(), call("stat", "{}"), engine::FinishReason::length);
  EXPECT_EQ(got.body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(got.body["choices"][0]["message"]["tool_calls"].size(), 1u);
}

TEST(OpenAiChat, one_call_when_they_may_not_be_parallel) {
  const auto got =
      ask(with_tools(R"({"parallel_tool_calls":false})"), call("stat", "{}") + call("stat", "{}"));
  EXPECT_EQ(got.body["choices"][0]["message"]["tool_calls"].size(), 1u);
  EXPECT_EQ(got.body["choices"][0]["finish_reason"], "tool_calls");
}

TEST(OpenAiChat, choice_none_neither_shows_nor_reads_tools) {
  const auto text = call("stat", "{}");
  const auto got = ask(with_tools(R"({"tool_choice":"none"})"), text);
  EXPECT_EQ(got.body["choices"][0]["message"]["content"], text);
  EXPECT_FALSE(got.body["choices"][0]["message"].contains("tool_calls"));
  EXPECT_EQ(got.body["choices"][0]["finish_reason"], "stop");
}

TEST(OpenAiChat, functions_are_answered_as_function_call) {
  Json body = body_with(R"({"functions":[{"name":"stat","parameters":{}}]})");
  const auto got = ask(body, call("stat", "{}") + call("stat", "{}"));
  const Json& choice = got.body["choices"][0];
  EXPECT_EQ(choice["message"]["function_call"], Json::parse(R"({"name":"stat","arguments":"{}"})"));
  EXPECT_TRUE(choice["message"]["content"].is_null());
  EXPECT_EQ(choice["finish_reason"], "function_call");
  EXPECT_EQ(got.deltas[1]["delta"]["function_call"],
            Json::parse(R"({"name":"stat","arguments":""})"));
}

class ThinkTemplate : public testing::PlainTemplate {
 public:
  const std::string& source() const override { return source_; }

 private:
  const std::string source_ = "<think>";
};

TEST(OpenAiChat, reasoning_under_both_names_and_in_the_usage) {
  auto request = openai_chat.parse(body_with(R"({"logprobs":true})"), "scripted");
  const std::string output = "<think>two</think>Hi";
  const auto model = testing::scripted_model([&](testing::ScriptedRow& row) -> Result<void> {
    row.say(output);
    row.finish();
    return {};
  });
  model->chat_template = std::make_shared<ThinkTemplate>();
  auto answer = Answer::start(model, *request, {});
  ASSERT_TRUE(answer);
  const auto encoder =
      openai_chat.encoder(*request, {"scripted", "fp_1", 1, model->tokenizer.get()});
  for (const auto& event : (*answer)->poll()) encoder->frames(event);
  const Json body = encoder->body((*answer)->usage());
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "Hi");
  EXPECT_EQ(choice["message"]["reasoning"], "two");
  EXPECT_EQ(choice["message"]["reasoning_content"], "two");
  EXPECT_EQ(choice["logprobs"]["content"].size(), output.size()) << "every token is told";
  EXPECT_EQ(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 18);
}

struct RefusedChoice {
  std::string more, param;
};

TEST(ToolChoiceField, other_forms_are_refused_by_name) {
  const RefusedChoice cases[] = {
      {R"({"tool_choice":"maybe"})", "tool_choice"},
      {R"({"tool_choice":7})", "tool_choice"},
      {R"({"tool_choice":{"type":"function","function":{"name":"nope"}}})", "tool_choice"},
      {R"({"tool_choice":{"type":"custom","custom":{"name":"read"}}})", "tool_choice"},
      {R"({"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}})",
       "tool_choice"},
      {R"({"function_call":{"name":"nope"}})", "function_call"},
      {R"({"parallel_tool_calls":"no"})", "parallel_tool_calls"},
  };
  for (const auto& [more, param] : cases) {
    const auto request = openai_chat.parse(with_tools(more), "m");
    ASSERT_FALSE(request) << more;
    EXPECT_EQ(request.error().code, ErrorCode::invalid_request);
    EXPECT_EQ(request.error().param, param) << more;
  }
  EXPECT_FALSE(openai_chat.parse(body_with(R"({"tool_choice":"required"})"), "m"));
  EXPECT_TRUE(openai_chat.parse(body_with(R"({"tool_choice":"auto"})"), "m")) << "no tools";
}

TEST(ToolChoiceField, every_form_is_read) {
  using Mode = ToolChoice::Mode;
  const auto read = [](const std::string& more) {
    auto request = openai_chat.parse(with_tools(more), "m");
    EXPECT_TRUE(request) << more;
    return request ? request->tool_choice : ToolChoice{};
  };
  EXPECT_EQ(read("{}").mode, Mode::automatic);
  EXPECT_TRUE(read("{}").parallel);
  EXPECT_EQ(read(R"({"tool_choice":null})").mode, Mode::automatic);
  EXPECT_EQ(read(R"({"tool_choice":"none"})").mode, Mode::none);
  EXPECT_EQ(read(R"({"tool_choice":"required"})").mode, Mode::required);
  const auto named = read(R"({"tool_choice":{"type":"function","function":{"name":"read"}}})");
  EXPECT_EQ(named.mode, Mode::required);
  EXPECT_EQ(named.names, std::vector<std::string>{"read"});
  const auto allowed = read(
      R"({"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[
        {"type":"function","function":{"name":"read"}},{"type":"function","name":"stat"}]}}})");
  EXPECT_EQ(allowed.mode, Mode::required);
  EXPECT_EQ(allowed.names, (std::vector<std::string>{"read", "stat"}));
  EXPECT_FALSE(read(R"({"parallel_tool_calls":false})").parallel);
}

}  // namespace
}  // namespace hearth::services
