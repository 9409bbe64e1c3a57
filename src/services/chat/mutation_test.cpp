// Every value in a body, replaced by every kind of value: a request or an error that says
// something, never an exception.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/chat/protocol.h"

namespace hearth::services {
namespace {

/// Pointers to every value in `json`.
void collect(const Json& json, const Json::json_pointer& at,
             std::vector<Json::json_pointer>& places) {
  places.push_back(at);
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) collect(value, at / name, places);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) collect(json[i], at / i, places);
  }
}

void mutate_everything(const Protocol& protocol, const std::string& text) {
  const Json body = Json::parse(text);
  const auto whole = protocol.parse(body, "tiny");
  ASSERT_TRUE(whole) << protocol.path << ": " << whole.error().message;
  const Json values = Json::parse(
      R"([null,true,0,-1,5,1.5,1e300,"","x",[],[null],[5],["x"],[{}],[[]],{},{"a":1},
          {"type":5},{"type":"x"},[{"type":"text"}],[{"type":null}]])");
  std::vector<Json::json_pointer> places;
  collect(body, Json::json_pointer(), places);
  for (const auto& place : places) {
    if (place.empty()) continue;  // that a body is an object is seen before
    for (const Json& value : values) {
      Json mutated = body;
      mutated[place] = value;
      try {
        const auto request = protocol.parse(mutated, "tiny");
        if (request) {
          protocol.encoder(*request, {})->begin({});
        } else {
          EXPECT_FALSE(request.error().message.empty()) << mutated.dump();
          EXPECT_EQ(request.error().code, ErrorCode::invalid_request) << mutated.dump();
        }
      } catch (const std::exception& e) {
        ADD_FAILURE() << protocol.path << ": " << e.what() << " for " << mutated.dump();
      }
    }
  }
}

TEST(Mutations, messages) {
  mutate_everything(anthropic_messages, R"({"max_tokens":9,"stream":true,"temperature":1,
      "stop_sequences":["x"],"system":[{"type":"text","text":"s"}],
      "thinking":{"type":"enabled","budget_tokens":1024},
      "output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}},
      "tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"strict":true}],
      "tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true},
      "chat_template_kwargs":{"enable_thinking":true},
      "messages":[{"role":"user","content":[{"type":"text","text":"x"},
        {"type":"document","title":"t","source":{"type":"text","media_type":"text/plain",
         "data":"d"}},
        {"type":"document","source":{"type":"base64","media_type":"text/plain","data":"dHdv"}},
        {"type":"document","source":{"type":"content","content":[{"type":"text","text":"c"}]}},
        {"type":"search_result","title":"t","source":"u",
         "content":[{"type":"text","text":"r"}]}]},
       {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},
        {"type":"redacted_thinking","data":"zz"},
        {"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,
        "content":[{"type":"text","text":"r"}]},{"type":"tool_result","tool_use_id":"toolu_2",
        "content":"r"}]},
       {"role":"assistant","content":"going on"}]})");
}

TEST(Mutations, responses) {
  mutate_everything(openai_responses, R"({"stream":true,"max_output_tokens":9,"temperature":1,
      "instructions":"i","previous_response_id":"resp_1","store":true,"truncation":"auto",
      "parallel_tool_calls":true,"include":["reasoning.encrypted_content"],"metadata":{"a":"b"},
      "logit_bias":{"5":1},"reasoning":{"effort":"low","summary":"auto"},
      "text":{"format":{"type":"json_schema","name":"n","schema":{},"strict":true},
              "verbosity":"low"},
      "tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true},
        {"type":"custom","name":"c","description":"d",
         "format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}},
        {"type":"web_search"}],
      "tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]},
      "input":[{"role":"developer","content":[{"type":"input_text","text":"d"}]},
       {"role":"user","content":[{"type":"input_text","text":"x"},
        {"type":"input_file","filename":"a","file_data":"data:text/plain;base64,dHdv"}]},
       {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],
        "content":[{"type":"reasoning_text","text":"c"}],"encrypted_content":"AA"},
       {"type":"message","role":"assistant","content":[{"type":"output_text","text":"o"}]},
       {"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"},
       {"type":"function_call_output","call_id":"call_1","output":"r"},
       {"type":"custom_tool_call","call_id":"call_2","name":"c","input":"i"},
       {"type":"custom_tool_call_output","call_id":"call_2",
        "output":[{"type":"input_text","text":"r"}]}]})");
}

TEST(Mutations, ollama) {
  const std::string options = R"("format":{"type":"object"},"think":true,"keep_alive":"5m",
      "stream":true,"logprobs":true,"top_logprobs":2,"options":{"num_predict":9,"temperature":1,
      "top_k":3,"seed":7,"stop":["END"],"repeat_penalty":1.5,"repeat_last_n":64})";
  mutate_everything(ollama_chat, "{" + options + R"(,"messages":[
      {"role":"user","content":"go","images":[]},
      {"role":"assistant","thinking":"t","content":"","tool_calls":[
        {"function":{"name":"look","arguments":{"q":"x"}}}]},
      {"role":"tool","tool_name":"look","content":"found"}],
      "tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]})");
  mutate_everything(ollama_generate, "{" + options + R"(,"prompt":"p","system":"s","raw":false,
      "suffix":"","template":"","context":[],"images":[]})");
}

}  // namespace
}  // namespace hearth::services
