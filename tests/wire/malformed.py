"""Two hundred requests that must be refused: (name, method, path, body or bytes, headers, status, param).

`param` is what the error names; None where there is no field to name. A body that is bytes is sent as
it is, any other as JSON.
"""
import json

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
USER = {"role": "user", "content": "hi"}
ROWS = []


def row(name, body, status=400, param=None, method="POST", path=CHAT, headers=None):
    ROWS.append((name, method, path, body, headers or {}, status, param))


def chat(**fields):
    return {"messages": [USER], "max_tokens": 2, **fields}


def text(**fields):
    return {"prompt": "hi", "max_tokens": 2, **fields}


# --- a value of the wrong type or out of range, one field at a time, on both routes

WRONG = {
    "temperature": [-1, -0.001, "hot", True, [], {}, 1e300],
    "top_p": [-0.1, 1.1, 2, "x", False],
    "top_k": [-1, 1.5, "x", True, 1e12],
    "min_p": [-0.5, 1.5, "x"],
    "max_tokens": [0, -3, 2.5, "x", True, 1e12],
    "max_completion_tokens": [0, -1, 0.5, []],
    "seed": ["x", 1.5, [], True],
    "n": [0, -1, 9, 1.5, "two"],
    "stream": ["yes", 1, []],
    "stop": [5, {}, [5], ["a", None], ["x"] * 65],
    "xtc_probability": [-0.1, 1.1, "x"],
    "xtc_threshold": [-0.1, 0.6, "x"],
    "repetition_penalty": [-1, "x"],
    "repetition_context_size": [-1, 0.5],
    "presence_penalty": ["x", []],
    "frequency_penalty": ["x", {}],
    "logit_bias": [[], "x", {"x": 1}, {"5": "x"}, {"1.5": 1}, {"5": None}],
    "stream_options": [5, "x", []],
    "response_format": ["json", {"type": "xml"}, {"type": 5}, {}],
}
for field, values in WRONG.items():
    for value in values:
        row(f"chat {field} {json.dumps(value)[:30]}", chat(**{field: value}), param=field)
for field in ("temperature", "top_p", "max_tokens", "n", "stop", "logit_bias", "seed"):
    for value in WRONG[field][:4]:
        row(f"text {field} {json.dumps(value)[:30]}", text(**{field: value}), param=field, path=TEXT)

row("usage option", chat(stream_options={"include_usage": "x"}), param="stream_options.include_usage")
row("bias outside the vocabulary", chat(logit_bias={"9999999": 1}), param="logit_bias")
row("negative bias id", chat(logit_bias={"-5": 1}), param="logit_bias")

# --- fields of chat

for value in (1, "yes", []):
    row(f"logprobs {value}", chat(logprobs=value), param="logprobs")
for value in ("x", 1.5, -2, 21, True):
    row(f"top_logprobs {value}", chat(logprobs=True, top_logprobs=value), param="top_logprobs")
for value in ("hihg", "", 5, "HIGH", []):
    row(f"effort {value}", chat(reasoning_effort=value), param="reasoning_effort")
for value in ([], "x", 5):
    row(f"kwargs {value}", chat(chat_template_kwargs=value), param="chat_template_kwargs")
row("thinking flag", chat(chat_template_kwargs={"enable_thinking": "no"}), param="chat_template_kwargs.enable_thinking")
for value in ({}, "x", 5):
    row(f"tools {value}", chat(tools=value), param="tools")
for i, tool in enumerate(({}, 5, {"type": "function"}, {"type": "function", "function": {}},
                          {"type": "retrieval", "function": {"name": "f"}},
                          {"type": "function", "function": {"name": 5}})):
    row(f"tool {i}", chat(tools=[tool]), param="tools[0]")
CUSTOM = [({}, "name"), ({"name": 5}, "name"), ({"name": "f", "description": 5}, "description"),
          ({"name": "f", "format": {"type": "json"}}, "format"),
          ({"name": "f", "format": {"type": "grammar", "grammar": {"syntax": "ebnf"}}}, "format.syntax"),
          ({"name": "f", "format": {"type": "grammar", "grammar": {"syntax": "lark"}}}, "format.definition")]
for tool, where in CUSTOM:
    row(f"custom tool {tool}", chat(tools=[{"type": "custom", "custom": tool}]), param=f"tools[0].custom.{where}")
row("tool parameters", chat(tools=[{"type": "function", "function": {"name": "f", "parameters": 5}}]),
    param="tools[0].function.parameters")
for value in ("required", "maybe", {"type": "function", "function": {"name": "f"}}, 5):
    row(f"tool_choice {json.dumps(value)[:20]}", chat(tool_choice=value), param="tool_choice")
row("audio out", chat(modalities=["text", "audio"]), param="modalities")
row("adapter", chat(adapter="mine"), param="adapter")
for field, values in {"guided_grammar": ["", 5, "x", "root ::= missing", "start: %"],
                      "guided_regex": ["", [], "[", "(?<=a)b"],
                      "guided_choice": ["x", [], [5], [""]],
                      "structured_outputs": ["x", 5, []]}.items():
    for value in values:
        row(f"{field} {value}", chat(**{field: value}), param=field)
row("no schema", chat(response_format={"type": "json_schema"}), param="response_format.json_schema")
for value in (None, 5, "x", []):
    row(f"schema {value}", chat(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": value}}),
        param="response_format.json_schema.schema")
row("service tier", chat(service_tier=5), param="service_tier")
row("continue flag", chat(continue_final_message="x"), param="continue_final_message")

# --- messages

for value in ([], None, "hi", 5, {}):
    row(f"messages {json.dumps(value)}", {"messages": value}, param="messages")
row("no messages", {}, param="messages")
for i, message in enumerate((5, "hi", None, [], {"content": "x"}, {"role": "narrator", "content": "x"},
                             {"role": 5}, {"role": None})):
    row(f"message {i}", {"messages": [USER, message]}, param="messages[1].role")
for value in (5, True, {"text": "x"}):
    row(f"content {value}", {"messages": [{"role": "user", "content": value}]}, param="messages[0].content")
for i, part in enumerate((5, {}, {"type": "hologram"}, {"type": "image_url", "image_url": {"url": "data:,"}},
                          {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
                          {"type": "video_url", "video_url": {"url": "x"}}, {"type": "image"}, {"type": "file"})):
    row(f"part {i}", {"messages": [{"role": "user", "content": [part]}]}, param="messages[0].content[0]")
row("text of a part", {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
    param="messages[0].content[0].text")
row("tool calls", {"messages": [USER, {"role": "assistant", "tool_calls": {}}]}, param="messages[1].tool_calls")
row("a tool call", {"messages": [USER, {"role": "assistant", "tool_calls": [{"id": "c"}]}]},
    param="messages[1].tool_calls[0]")
row("tool_call_id", {"messages": [USER, {"role": "tool", "tool_call_id": 5, "content": "x"}]},
    param="messages[1].tool_call_id")
row("name", {"messages": [{"role": "user", "name": [], "content": "x"}]}, param="messages[0].name")

# --- prompts

for value in (None, "", [], {}, 5, True):
    row(f"prompt {json.dumps(value)}", {"prompt": value}, param="prompt", path=TEXT)
row("no prompt", {}, param="prompt", path=TEXT)
for value in ([1.5], [-1], [1, "x"], [1e12]):
    row(f"prompt {value}", {"prompt": value}, param="prompt", path=TEXT)
for value in ([""], [[]], ["a", ""], ["a", 5], [[1], [-1]], [[1], ["x"]]):
    row(f"prompts {value}", {"prompt": value}, path=TEXT,
        param=f"prompt[{len(value) - 1}]")
row("token outside the vocabulary", {"prompt": [5, 9999999]}, path=TEXT)
row("too many prompts", {"prompt": ["x"] * 65}, param="prompt", path=TEXT)
row("suffix", text(suffix="end"), param="suffix", path=TEXT)
for value in (2, 0, "x"):
    row(f"best_of {value}", text(best_of=value), param="best_of", path=TEXT)
row("echo type", text(echo="x"), param="echo", path=TEXT)
for value in (21, -1, 1.5, "x"):
    row(f"text logprobs {value}", text(logprobs=value), param="logprobs", path=TEXT)
row("prompt over the context", {"prompt": [5] * 5000, "max_tokens": 1}, path=TEXT)

# --- JSON

for name, data in {
    "nothing": b" ", "words": b"hello", "array": b"[]", "null": b"null", "number": b"5", "string": b'"x"',
    "cut off": b'{"messages":[', "trailing": b"{} {}", "comma": b'{"a":1,}', "quotes": b"{'a':1}",
    "NaN": b'{"messages":[],"temperature":NaN}', "infinity": b'{"temperature":1e999}',
    "not UTF-8": b'{"messages":[{"role":"user","content":"\xff\xfe"}]}',
    "lone surrogate": b'{"messages":[{"role":"user","content":"\\ud800"}]}',
    "control character": b'{"a":"\x01"}', "deep": b'{"a":' + b"[" * 300 + b"]" * 300 + b"}",
    "very deep": b"[" * 200_000, "form": b"messages=hi", "zero byte": b'{"a":"\x00"}',
}.items():
    row(f"JSON: {name}", data)
    if name in ("words", "null", "cut off", "deep"):
        row(f"JSON: {name}, completions", data, path=TEXT)
        row(f"JSON: {name}, tokenize", data, path="/tokenize")

# --- paths, methods, headers

for method, path in (("GET", CHAT), ("PUT", CHAT), ("DELETE", "/v1/models"), ("POST", "/health"), ("PATCH", TEXT),
                     ("POST", "/v1/models")):
    row(f"{method} {path}", b"{}", status=405, method=method, path=path)
for path in ("/v1/none", "/v1/chat", "/../etc/passwd", "/v1/chat/completions/x", "/%2e%2e/x", "/v2/models",
             "/index.html", "/.git/config"):
    row(f"path {path}", b"{}", status=404, path=path)
row("unknown model", b"", status=404, param="model", method="GET", path="/v1/models/none")
row("foreign host", chat(), status=403, param="Host", headers={"Host": "evil.example"})
row("large headers", chat(), status=431, headers={"X-Large": "x" * 70_000})

# --- tokens

for value in (None, 5, []):
    row(f"tokenize {value}", {"content": value}, param="content", path="/tokenize")
row("tokenize flag", {"content": "x", "with_pieces": "yes"}, param="with_pieces", path="/tokenize")
for value in (None, "x", [-1], ["x"], [9999999], [1.5]):
    row(f"detokenize {value}", {"tokens": value}, param="tokens", path="/detokenize")
