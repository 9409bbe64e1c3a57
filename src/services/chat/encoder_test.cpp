// Both OpenAI wires against exchanges written down here, streamed and not.
#include <gtest/gtest.h>

#include <cmath>

#include "services/chat/openai_common.h"
#include "services/chat/protocol.h"
#include "services/chat/scripted_model.h"

namespace hearth::services {
namespace {

const testing::ByteTokenizer tokenizer;
const Usage usage{{.prompt_tokens = 9, .cached_tokens = 4, .completion_tokens = 2}};

ReplyInfo info() { return {"tiny", "fp_00000001", 1700000000, &tokenizer}; }

TextDelta delta(const std::string& text, bool tokens = false) {
  TextDelta out{.text = text};
  for (const unsigned char byte : text) {
    if (tokens) out.tokens.push_back({{byte, -0.5f}, {{byte, -0.5f}, {65, -2.f}}});
  }
  return out;
}

Finished end(engine::FinishReason reason = engine::FinishReason::stop) {
  Finished out;
  out.reason = reason;
  return out;
}

/// With the random id replaced.
std::string anonymous(std::string text) {
  constexpr std::string_view prefix = "cmpl-";  // the end of "chatcmpl-" too
  constexpr std::size_t uuid = 36;
  for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
    text.replace(at + prefix.size(), uuid, "ID");
  }
  return text;
}

std::string streamed(const Protocol& protocol, const Request& request,
                     const std::vector<ChoiceEvent>& events) {
  const auto encoder = protocol.encoder(request, info());
  std::string out = encoder->begin({});
  for (const auto& event : events) out += encoder->frames(event);
  return anonymous(out + encoder->end(usage));
}

Json whole(const Protocol& protocol, const Request& request,
           const std::vector<ChoiceEvent>& events) {
  const auto encoder = protocol.encoder(request, info());
  encoder->begin({});
  for (const auto& event : events) EXPECT_EQ(encoder->frames(event), "");
  return Json::parse(anonymous(dump(encoder->body(usage))));
}

const std::string head =
    R"({"id":"chatcmpl-ID","object":"chat.completion.chunk","created":1700000000,"model":"tiny",)"
    R"("system_fingerprint":"fp_00000001",)";
const std::string totals =
    R"({"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,)"
    R"("prompt_tokens_details":{"cached_tokens":4},)"
    R"("completion_tokens_details":{"reasoning_tokens":0},"lane":"batched"})";

const std::string times =
    R"("hearth":{"queue_ms":0.0,"ttft_ms":null,"prefill_tps":null,"decode_tps":null})";

std::string choice(const std::string& delta, const std::string& finish) {
  return R"("choices":[{"index":0,"delta":)" + delta + R"(,"logprobs":null,"finish_reason":)" +
         finish + "}]";
}

TEST(ChatEncoder, streams_role_text_finish_and_done_without_usage) {
  Request request;
  request.stream = true;
  EXPECT_EQ(streamed(openai_chat, request, {{0, delta("Hi")}, {0, end()}}),
            "data: " + head + choice(R"({"role":"assistant","content":""})", "null") + "}\n\n" +
                "data: " + head + choice(R"({"content":"Hi"})", "null") + "}\n\n" +  //
                "data: " + head + choice("{}", R"("stop")") + "," + times + "}\n\n" +
                "data: [DONE]\n\n");
}

TEST(ChatEncoder, include_usage_true_sends_one_more_chunk) {
  Request request;
  request.stream = true;
  request.include_usage = true;
  const auto out = streamed(openai_chat, request, {{0, end()}});
  EXPECT_NE(out.find(choice("{}", R"("stop")") + R"(,"usage":null})"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("choices":[],"usage":)" + totals + "," + times + "}\n\ndata: [DONE]\n\n"),
            std::string::npos)
      << out;
}

TEST(ChatEncoder, include_usage_false_sends_none) {
  Request request;
  request.stream = true;
  request.include_usage = false;
  EXPECT_EQ(streamed(openai_chat, request, {{0, end()}}).find("usage"), std::string::npos);
}

TEST(ChatEncoder, one_body) {
  Request request;
  const Json body =
      whole(openai_chat, request,
            {{0, delta("Hi")}, {0, delta(" there")}, {0, end(engine::FinishReason::length)}});
  EXPECT_EQ(dump(body),
            R"({"id":"chatcmpl-ID","object":"chat.completion","created":1700000000,)"
            R"("model":"tiny","system_fingerprint":"fp_00000001","choices":[{"index":0,)"
            R"("message":{"role":"assistant","content":"Hi there","refusal":null},)"
            R"("logprobs":null,"finish_reason":"length"}],"usage":)" +
                totals + "," + times + "}");
}

TEST(ChatEncoder, choices_interleave_and_the_usage_comes_once) {
  Request request;
  request.stream = true;
  request.n = 2;
  request.include_usage = true;
  const auto out =
      streamed(openai_chat, request, {{1, delta("b")}, {0, delta("a")}, {1, end()}, {0, end()}});
  std::size_t count = 0;
  const std::string told = "\"usage\":{";
  for (auto at = out.find(told); at != out.npos; at = out.find(told, at + 1)) ++count;
  EXPECT_EQ(count, 1u);
  EXPECT_LT(out.find(R"("index":1,"delta":{"content":"b"})"),
            out.find(R"("index":0,"delta":{"content":"a"})"));
}

TEST(ChatEncoder, logprobs_tell_token_piece_bytes_and_rivals) {
  Request request;
  request.top_logprobs = 2;
  const Json body = whole(openai_chat, request, {{0, delta(" é", true)}, {0, end()}});
  const Json& entries = body["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(dump(entries[0]),
            R"({"id":32,"token":" ","piece":"Ġ","bytes":[32],"logprob":-0.5,"top_logprobs":[)"
            R"({"id":32,"token":" ","piece":"Ġ","bytes":[32],"logprob":-0.5},)"
            R"({"id":65,"token":"A","piece":"A","bytes":[65],"logprob":-2.0}]})");
  EXPECT_EQ(entries[1]["token"], "bytes:\\xc3");
  EXPECT_EQ(entries[2]["bytes"], Json::array({0xa9}));
}

TEST(ChatEncoder, an_error_frame_is_openais_envelope) {
  const auto encoder = openai_chat.encoder(Request{}, info());
  EXPECT_EQ(encoder->error_frame({ErrorCode::internal, "no memory", ""}),
            "data: {\"error\":{\"message\":\"no memory\",\"type\":\"server_error\",\"param\":null,"
            "\"code\":null}}\n\n");
}

TEST(CompletionEncoder, streams_text) {
  Request request;
  request.stream = true;
  request.include_usage = false;
  const std::string start =
      R"(data: {"id":"cmpl-ID","object":"text_completion","created":1700000000,"model":"tiny",)"
      R"("system_fingerprint":"fp_00000001","choices":[{"index":0,"text":)";
  EXPECT_EQ(streamed(openai_completions, request, {{0, delta("Hi")}, {0, end()}}),
            start + R"("Hi","logprobs":null,"finish_reason":null}]})" + "\n\n" + start +
                R"("","logprobs":null,"finish_reason":"stop"}],)" + times +
                "}\n\ndata: [DONE]\n\n");
}

TEST(CompletionEncoder, the_older_logprobs_block) {
  Request request;
  request.top_logprobs = 2;
  request.logprobs_shape = LogprobsShape::legacy;
  const Json body = whole(openai_completions, request,
                          {{0, delta("ab", true)}, {0, delta("c", true)}, {0, end()}});
  EXPECT_EQ(
      dump(body["choices"][0]["logprobs"]),
      R"({"tokens":["a","b","c"],"token_logprobs":[-0.5,-0.5,-0.5],"top_logprobs":[)"
      R"({"a":-0.5,"A":-2.0},{"b":-0.5,"A":-2.0},{"c":-0.5,"A":-2.0}],"text_offset":[0,1,2]})");
}

TEST(CompletionEncoder, offsets_count_characters) {
  Request request;
  request.top_logprobs = 0;
  request.logprobs_shape = LogprobsShape::legacy;
  const Json body = whole(openai_completions, request,
                          {{0, delta("aé", true)}, {0, delta("b", true)}, {0, end()}});
  EXPECT_EQ(dump(body["choices"][0]["logprobs"]["text_offset"]), "[0,1,2,2]");
}

TEST(CompletionEncoder, an_echo_opens_the_text) {
  Request request;
  request.echo = true;
  const auto encoder = openai_completions.encoder(request, info());
  encoder->begin({"Once "});
  encoder->frames({0, delta("upon")});
  encoder->frames({0, end()});
  EXPECT_EQ(encoder->body(usage)["choices"][0]["text"], "Once upon");
}

TEST(CompletionEncoder, an_echo_with_logprobs_begins_with_a_token_that_follows_nothing) {
  Request request;
  request.echo = true;
  request.top_logprobs = 2;
  request.logprobs_shape = LogprobsShape::legacy;
  TextDelta prompt = delta("ab", true);
  prompt.tokens[0] = {{'a', NAN}, {}};
  const Json choice = whole(openai_completions, request,
                            {{0, prompt}, {0, delta("c", true)}, {0, end()}})["choices"][0];
  EXPECT_EQ(choice["text"], "abc");
  EXPECT_EQ(dump(choice["logprobs"]),
            R"({"tokens":["a","b","c"],"token_logprobs":[null,-0.5,-0.5],"top_logprobs":[)"
            R"(null,{"b":-0.5,"A":-2.0},{"c":-0.5,"A":-2.0}],"text_offset":[0,1,2]})");
  request.logprobs_shape = LogprobsShape::entries;
  const Json entry = whole(openai_completions, request,
                           {{0, prompt}, {0, end()}})["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(entry["logprob"], nullptr);
}

TEST(OpenAiError, each_code_has_its_type_and_code) {
  const auto told = [](ErrorCode code, const char* param = "") {
    const Json error = openai_error({code, "m", param})["error"];
    return error["type"].get<std::string>() + "/" + error["code"].dump();
  };
  EXPECT_EQ(told(ErrorCode::invalid_request, "n"), "invalid_request_error/null");
  EXPECT_EQ(told(ErrorCode::context_overflow), "invalid_request_error/\"context_length_exceeded\"");
  EXPECT_EQ(told(ErrorCode::context_overflow, "--memory-budget"),
            "invalid_request_error/\"context_over_budget\"");
  EXPECT_EQ(told(ErrorCode::unauthorized), "authentication_error/\"invalid_api_key\"");
  EXPECT_EQ(told(ErrorCode::not_found, "model"), "not_found_error/\"model_not_found\"");
  EXPECT_EQ(told(ErrorCode::not_found), "not_found_error/\"not_found\"");
  EXPECT_EQ(told(ErrorCode::overloaded), "server_overloaded/\"queue_full\"");
  EXPECT_EQ(told(ErrorCode::internal), "server_error/null");
}

}  // namespace
}  // namespace hearth::services
