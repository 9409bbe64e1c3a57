// Ollama's API: requests to the neutral one, events to lines of JSON.
#include "services/chat/ollama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "services/chat/wire_testing.h"

namespace hearth::services {
namespace {

using testing::asked;
using testing::call;
using testing::finished;
using ::testing::HasSubstr;
using testing::reasoning;
using testing::text;

Result<Request> parsed(const Protocol& protocol, const std::string& body) {
  return protocol.parse(Json::parse(body), "tiny");
}

text::Conversation chat_of(const Protocol& protocol, const std::string& body) {
  const Request request = asked(protocol, body);
  const auto* chat = std::get_if<text::Conversation>(&request.input);
  return chat ? *chat : text::Conversation{};
}

std::string with(const std::string& fields) {
  return R"({"model":"any","messages":[{"role":"user","content":"hi"}],)" + fields + "}";
}

std::vector<Json> lines_of(const std::string& stream) {
  std::vector<Json> lines;
  std::istringstream in(stream);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(OllamaChat, messages_tools_and_thinking) {
  const auto chat = chat_of(ollama_chat, R"({"think":"low","messages":[
      {"role":"system","content":"s"},{"role":"user","content":"go","images":[]},
      {"role":"assistant","thinking":"t","content":"","tool_calls":[
        {"function":{"name":"look","arguments":{"q":"x"}}}]},
      {"role":"tool","tool_name":"look","content":"found"}],
      "tools":[{"function":{"name":"look","parameters":{"type":"object"}}}]})");
  EXPECT_EQ(chat.messages, Json::parse(R"([{"role":"system","content":"s"},
      {"role":"user","content":"go"},
      {"role":"assistant","content":"","reasoning_content":"t","tool_calls":[
        {"function":{"name":"look","arguments":{"q":"x"}},"type":"function"}]},
      {"role":"tool","content":"found","name":"look"}])"));
  EXPECT_EQ(chat.tools[0]["type"], "function");
  EXPECT_EQ(chat.kwargs, Json({{"enable_thinking", true}, {"reasoning_effort", "low"}}));
  EXPECT_EQ(chat_of(ollama_chat, with(R"("think":false)")).kwargs,
            Json({{"enable_thinking", false}}));
}

TEST(OllamaChat, options_by_ollamas_names) {
  const auto request = asked(ollama_chat, with(R"("format":{"type":"object"},"keep_alive":"5m",
      "options":{"num_predict":9,"temperature":0.5,"top_k":3,"top_p":0.5,"min_p":0.1,"seed":7,
      "stop":["END"],"repeat_penalty":1.5,"repeat_last_n":-1,"presence_penalty":0.25,
      "num_ctx":2048,"mirostat":1})"));
  EXPECT_EQ(request.sampling.max_tokens, 9);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.sampling.seed, 7u);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(request.sampling.repetition_context_size, 0) << "-1 looks back over everything";
  EXPECT_EQ(request.sampling.presence_context_size, 0);
  EXPECT_EQ(request.stop, std::vector<std::string>{"END"});
  EXPECT_TRUE(request.stream) << "unless the request says otherwise";
  EXPECT_EQ(request.constraint->schema, Json({{"type", "object"}}));
  EXPECT_FALSE(asked(ollama_chat, with(R"("stream":false)")).stream);
}

TEST(OllamaChat, no_limit_and_no_look_back) {
  const auto sampling = [](const std::string& options) {
    return asked(ollama_chat, with(R"("options":)" + options)).sampling;
  };
  for (const char* all : {"-1", "-2", "0"}) {
    EXPECT_FALSE(sampling(std::string(R"({"num_predict":)") + all + "}").max_tokens);
  }
  EXPECT_FALSE(sampling(R"({"repeat_penalty":1.5,"repeat_last_n":0})").repetition_penalty);
  EXPECT_EQ(sampling(R"({"repeat_penalty":1.5})").repetition_context_size, 64);
}

TEST(OllamaChat, json_and_log_probabilities) {
  const auto request =
      asked(ollama_chat, with(R"("format":"json","logprobs":true,"top_logprobs":2)"));
  EXPECT_EQ(request.constraint->kind, Constraint::Kind::json_object);
  EXPECT_EQ(request.top_logprobs, 2);
  EXPECT_FALSE(asked(ollama_chat, with(R"("format":"")")).constraint);
}

TEST(OllamaGenerate, prompt_and_system_or_raw_text) {
  EXPECT_EQ(chat_of(ollama_generate, R"({"prompt":"p","system":"s"})").messages,
            Json::parse(R"([{"role":"system","content":"s"},{"role":"user","content":"p"}])"));
  EXPECT_EQ(std::get<std::string>(asked(ollama_generate, R"({"prompt":"p","raw":true})").input),
            "p");
}

TEST(Ollama, an_empty_request_loads) {
  const auto loads = [](const char* body, bool chat) {
    const auto reply = ollama_load_reply(Json::parse(body), "tiny", chat);
    return reply ? (*reply)["done_reason"].get<std::string>() : "";
  };
  EXPECT_EQ(loads(R"({"model":"tiny"})", false), "load");
  EXPECT_EQ(loads(R"({"prompt":""})", false), "load");
  EXPECT_EQ(loads(R"({"messages":[]})", true), "load");
  EXPECT_EQ(loads(R"({"keep_alive":0})", true), "unload");
  EXPECT_EQ(loads(R"({"prompt":"x"})", false), "");
  EXPECT_EQ(loads(R"({"messages":[{"role":"user","content":"x"}]})", true), "");
}

TEST(Ollama, what_is_wrong_is_named) {
  const std::tuple<const Protocol*, std::string, std::string> cases[] = {
      {&ollama_chat, R"({"messages":[{"role":"user","content":"x","images":["AA"]}]})",
       "messages[0].content[1]: tiny takes text only"},
      {&ollama_chat, R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {&ollama_chat, R"({"messages":["x"]})", "messages[0]"},
      {&ollama_chat, R"({"messages":{}})", "messages"},
      {&ollama_chat, with(R"("options":5)"), "options"},
      {&ollama_chat, with(R"("options":{"temperature":"hot"})"), "options.temperature"},
      {&ollama_chat, with(R"("options":{"repeat_penalty":-1})"), "options.repeat_penalty"},
      {&ollama_chat, with(R"("options":{"num_predict":1.5})"), "options.num_predict"},
      {&ollama_chat, with(R"("options":{"stop":5})"), "options.stop"},
      {&ollama_chat, with(R"("format":"xml")"), "format"},
      {&ollama_chat, with(R"("think":"hard")"), "think"},
      {&ollama_chat, with(R"("keep_alive":true)"), "keep_alive"},
      {&ollama_chat, with(R"("tools":[{"function":{}}])"), "tools[0]"},
      {&ollama_generate, R"({"prompt":"x","suffix":"y"})", "suffix"},
      {&ollama_generate, R"({"prompt":"x","template":"{{ .Prompt }}"})", "template"},
      {&ollama_generate, R"({"prompt":"x","context":[1,2]})", "context"},
      {&ollama_generate, R"({"prompt":"x","images":["AA"]})", "tiny takes text only"},
      {&ollama_generate, R"({"prompt":["x"]})", "prompt"},
  };
  for (const auto& [protocol, body, named] : cases) {
    const auto request = parsed(*protocol, body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, ErrorCode::invalid_request) << body;
    EXPECT_THAT(request.error().message + request.error().param, HasSubstr(named)) << body;
  }
  EXPECT_EQ(ollama_error({ErrorCode::internal, "no memory", "x"}), Json({{"error", "no memory"}}));
}

TEST(OllamaEncoder, lines_of_thinking_text_and_calls) {
  Request request;
  const auto lines = lines_of(
      testing::streamed(ollama_chat, request,
                        {reasoning("plan"), text("Hi"), call("call_1", "look", R"({"q":"x"})"),
                         finished(engine::FinishReason::stop, 1)}));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["message"],
            Json::parse(R"({"role":"assistant","content":"","thinking":"plan"})"));
  EXPECT_EQ(lines[1]["message"], Json::parse(R"({"role":"assistant","content":"Hi"})"));
  EXPECT_EQ(lines[1]["done"], false);
  EXPECT_EQ(lines[2]["message"]["tool_calls"][0]["function"]["arguments"], Json({{"q", "x"}}));
  EXPECT_EQ(lines[3]["done"], true);
  EXPECT_EQ(lines[3]["done_reason"], "stop");
  EXPECT_EQ(lines[3]["prompt_eval_count"], 9);
  EXPECT_EQ(lines[3]["eval_count"], 7);
  EXPECT_THAT(
      lines[0]["created_at"].get<std::string>(),
      ::testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{9}Z"));
}

TEST(OllamaEncoder, one_body_with_durations_that_can_be_divided_by) {
  Usage usage = testing::some_usage();
  usage.prefill_seconds = 0.5;
  const Json body = testing::whole(ollama_generate, {},
                                   {reasoning("a"), reasoning("b"), text("c"), text("d"),
                                    finished(engine::FinishReason::length)},
                                   usage);
  EXPECT_EQ(body["response"], "cd");
  EXPECT_EQ(body["thinking"], "ab");
  EXPECT_EQ(body["done_reason"], "length");
  EXPECT_EQ(body["prompt_eval_duration"], 500000000);
  EXPECT_EQ(body["eval_duration"], 1);
  EXPECT_GE(body["total_duration"], 500000001);
}

TEST(OllamaEncoder, a_failure_and_silence_are_lines_too) {
  Request request;
  request.stream = true;
  const auto encoder = ollama_chat.encoder(request, testing::reply_info());
  EXPECT_EQ(encoder->error_frame({ErrorCode::internal, "no memory", ""}),
            "{\"error\":\"no memory\"}\n");
  const Json ping = Json::parse(encoder->ping());
  EXPECT_EQ(ping["message"]["content"], "");
  EXPECT_EQ(ping["done"], false);
  EXPECT_EQ(ollama_chat.stream_type, "application/x-ndjson");
}

}  // namespace
}  // namespace hearth::services
