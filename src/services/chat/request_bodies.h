// For tests: valid bodies of every wire that use every field, for mutations to start from.
#pragma once

#include <string_view>

namespace hearth::services::testing {

constexpr std::string_view chat_body = R"({"model":"scripted","stream":false,"n":2,"max_tokens":9,
      "max_completion_tokens":8,"temperature":1,"top_p":0.9,"top_k":5,"min_p":0.1,"seed":7,
      "stop":["END","x"],"logprobs":true,"top_logprobs":2,"logit_bias":{"5":1},
      "repetition_penalty":1.1,"presence_penalty":0.5,"frequency_penalty":0.5,
      "repetition_context_size":5,"xtc_probability":0.1,"xtc_threshold":0.2,
      "stream_options":{"include_usage":true},"reasoning_effort":"low","user":"u",
      "chat_template_kwargs":{"enable_thinking":true},"parallel_tool_calls":true,
      "response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{
        "type":"object","properties":{"k":{"enum":["a","b"]},"n":{"type":"integer","minimum":1,
        "maximum":9},"l":{"type":"array","items":{"type":"boolean"},"maxItems":2}},
        "required":["k"],"additionalProperties":false}}},
      "tools":[{"type":"function","function":{"name":"look","description":"d","strict":true,
        "parameters":{"type":"object","properties":{"q":{"type":"string","pattern":"^[a-z]+$"}},
        "required":["q"],"additionalProperties":false}}}],
      "tool_choice":{"type":"function","function":{"name":"look"}},
      "messages":[{"role":"system","content":"s"},{"role":"developer","content":"d"},
       {"role":"user","name":"n","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
       {"role":"assistant","content":null,"reasoning_content":"t","tool_calls":[{"id":"call_1",
        "type":"function","function":{"name":"look","arguments":"{\"q\":\"x\"}"}}]},
       {"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"r"}]}]})";

constexpr std::string_view completion_body =
    R"({"model":"scripted","stream":false,"n":2,"best_of":2,
      "max_tokens":6,"temperature":0.5,"top_p":1,"seed":3,"stop":"END","echo":false,"logprobs":2,
      "logit_bias":{"7":-1},"stream_options":{"include_usage":true},"user":"u",
      "guided_choice":["north","south"],"prompt":["Once","Two"]})";

constexpr std::string_view messages_body = R"({"max_tokens":9,"stream":true,"temperature":1,
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
       {"role":"assistant","content":"going on"}]})";

constexpr std::string_view responses_body = R"({"stream":true,"max_output_tokens":9,"temperature":1,
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
        "output":[{"type":"input_text","text":"r"}]}]})";

constexpr std::string_view ollama_chat_body =
    R"({"format":{"type":"object"},"think":true,"keep_alive":"5m",
      "stream":true,"logprobs":true,"top_logprobs":2,"options":{"num_predict":9,"temperature":1,
      "top_k":3,"seed":7,"stop":["END"],"repeat_penalty":1.5,"repeat_last_n":64},"messages":[
      {"role":"user","content":"go","images":[]},
      {"role":"assistant","thinking":"t","content":"","tool_calls":[
        {"function":{"name":"look","arguments":{"q":"x"}}}]},
      {"role":"tool","tool_name":"look","content":"found"}],
      "tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]})";

constexpr std::string_view ollama_generate_body =
    R"({"format":{"type":"object"},"think":true,"keep_alive":"5m",
      "stream":true,"logprobs":true,"top_logprobs":2,"options":{"num_predict":9,"temperature":1,
      "top_k":3,"seed":7,"stop":["END"],"repeat_penalty":1.5,"repeat_last_n":64},
      "prompt":"p","system":"s","raw":false,"suffix":"","template":"","context":[],"images":[]})";

}  // namespace hearth::services::testing
