"""Ollama's own client against the real server, and every line against the client's types."""
import json

import ollama
import pytest
from ollama import ChatResponse, GenerateResponse, ListResponse, ProcessResponse, ShowResponse

from scripted_serving import Scripted, call, turn
from strict import check

HI = [{"role": "user", "content": "hi"}]
LOOK = {"type": "function", "function": {"name": "look", "description": "Looks something up", "parameters": {
    "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "ok": {"type": "boolean"}},
          "required": ["n", "ok"], "additionalProperties": False}
OURS = {"id", "index", "bytes", "piece"}  # of calls (Ollama sends both) and of log-probabilities


@pytest.fixture(scope="module")
def client(server):
    return ollama.Client(host=server.url)


def raw_lines(server, path, kind, **body):
    with server.http.stream("POST", path, json={"model": "any", **body}) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(line) for line in response.iter_lines()]
    for line in lines:
        check(kind, line, OURS)
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    return lines


def test_an_answer_and_its_stream_are_the_same(server, client):
    fields = {"model": server.model, "messages": HI, "options": {"num_predict": 12, "temperature": 0}}
    plain = client.chat(**fields)
    assert plain.done and plain.done_reason == "length" and plain.eval_count == 12
    assert plain.total_duration >= plain.eval_duration > 0 and plain.prompt_eval_duration > 0
    chunks = list(client.chat(stream=True, **fields))
    assert "".join(c.message.content for c in chunks) == plain.message.content
    assert chunks[-1].eval_count == 12 and chunks[-1].prompt_eval_count == plain.prompt_eval_count
    assert plain.model == server.model


def test_every_line_is_of_the_clients_types(server):
    raw_lines(server, "/api/chat", ChatResponse, messages=HI, options={"num_predict": 5}, logprobs=True, top_logprobs=2)
    raw_lines(server, "/api/generate", GenerateResponse, prompt="Once", options={"num_predict": 5})
    for path, kind, ask in (("/api/chat", ChatResponse, {"messages": HI}),
                            ("/api/generate", GenerateResponse, {"prompt": "Once", "system": "Tell."})):
        body = server.http.post(path, json={"stream": False, "options": {"num_predict": 5}, **ask})
        check(kind, body.json(), OURS)


def test_raw_text_is_continued_without_a_template(server, client):
    raw = client.generate(model="any", prompt="Once upon a time", raw=True, options={"num_predict": 6, "temperature": 0})
    plain = server.http.post("/v1/completions", json={
        "prompt": "Once upon a time", "max_tokens": 6, "temperature": 0}).json()
    assert raw.response == plain["choices"][0]["text"]
    assert raw.prompt_eval_count == plain["usage"]["prompt_tokens"]


def test_an_empty_request_loads(client):
    assert client.generate(model="any").done_reason == "load"
    assert client.chat(model="any", messages=[]).done_reason == "load"
    assert client.generate(model="any", keep_alive=0).done_reason == "unload"


def test_thinking_and_a_tool_loop_of_two_steps():
    turns = [turn(call("look", q="first"), unless="result", reasoning="plan"),
             turn(call("look", q="second"), when="result one", unless="result two", reasoning="plan"),
             turn("Both found.", when="result two", reasoning="plan")]
    results = {"first": "result one", "second": "result two"}
    with Scripted(turns) as server:
        client, messages, steps = ollama.Client(host=server.url), [*HI], 0
        while True:
            answer = client.chat(model="any", messages=messages, tools=[LOOK], think=True)
            assert answer.message.thinking.strip() == "plan"
            messages.append(answer.message)
            if not answer.message.tool_calls:
                break
            steps += 1
            for made in answer.message.tool_calls:
                messages.append({"role": "tool", "tool_name": made.function.name,
                                 "content": results[made.function.arguments["q"]]})
        assert steps == 2 and answer.message.content.strip() == "Both found."


def test_a_call_is_a_line_of_its_own():
    with Scripted([turn("I look.\n" + call("look", q="x"))]) as server:
        lines = raw_lines(server, "/api/chat", ChatResponse, messages=HI, tools=[LOOK])
    calls = [line["message"]["tool_calls"] for line in lines if "tool_calls" in line["message"]]
    assert [c[0]["function"]["arguments"] for c in calls] == [{"q": "x"}]
    assert "".join(line["message"]["content"] for line in lines).strip() == "I look."
    assert lines[-1]["done_reason"] == "stop"


def test_what_is_said_of_the_model(server, client):
    listed = check(ListResponse, server.http.get("/api/tags").json(), {"name"})
    assert listed.models[0].model == server.model and listed.models[0].size > 0
    running = check(ProcessResponse, server.http.get("/api/ps").json())
    assert running.models[0].context_length == 4096
    shown = check(ShowResponse, server.http.post("/api/show", json={"model": server.model}).json())
    family = shown.modelinfo["general.architecture"]
    assert shown.modelinfo[f"{family}.context_length"] == 4096
    assert "completion" in shown.capabilities and shown.details.family == family == "llama"
    assert client.show(server.model + ":latest").template == shown.template
    with pytest.raises(ollama.ResponseError) as unknown:
        client.show("someone/unknown")
    assert unknown.value.status_code == 404 and "not found" in unknown.value.error
    version = server.http.get("/api/version").json()["version"]
    assert [int(part) for part in version.split(".")] >= [0, 6, 4], "clients refuse servers older than this"


def test_embeddings_are_refused_by_a_chat_model(server, client):
    with pytest.raises(ollama.ResponseError, match="chat model") as refused:
        client.embed(model=server.model, input="hi")
    assert refused.value.status_code == 400


ERRORS = [
    ("/api/chat", {"messages": [{"role": "user", "content": "x", "images": ["AA"]}]}, "text only"),
    ("/api/chat", {"messages": HI, "options": {"temperature": -1}}, "options.temperature"),
    ("/api/chat", {"messages": HI, "format": 5}, "format"),
    ("/api/chat", {"messages": [{"role": "user", "content": "word " * 6000}]}, "prompt is too long"),
    ("/api/generate", {"prompt": "x", "suffix": "y"}, "suffix"),
    ("/api/generate", {"prompt": "x", "template": "{{ .Prompt }}"}, "template"),
    ("/api/embed", {"input": "x"}, "chat model"),
]


@pytest.mark.parametrize("path, body, text", ERRORS)
def test_errors_are_one_string(server, path, body, text):
    response = server.http.post(path, json={"model": "any", **body})
    assert response.status_code == 400, response.text
    assert list(response.json()) == ["error"] and text in response.json()["error"]


def test_unknown_paths_and_methods_have_the_envelope_too(server):
    assert list(server.http.post("/api/pull", json={}).json()) == ["error"]
    assert list(server.http.get("/api/chat").json()) == ["error"]


def test_a_failure_after_the_start_reaches_the_client():
    with Scripted([turn("half of", finish="error")]) as server:
        with pytest.raises(ollama.ResponseError):
            list(ollama.Client(host=server.url).chat(model="any", messages=HI, stream=True))


def test_a_schema_holds_a_real_model(real_server):
    client = ollama.Client(host=real_server.url)
    fields = {"model": "any", "options": {"num_predict": 80, "temperature": 0}}
    answer = client.chat(messages=[{"role": "user", "content": "Give n and ok."}], format=SCHEMA, **fields)
    assert set(json.loads(answer.message.content)) == {"n", "ok"} and answer.done_reason == "stop"
    json.loads(client.generate(prompt="Give n as JSON", format="json", **fields).response)
    with pytest.raises(ollama.ResponseError, match='"not"'):
        client.generate(prompt="x", format={"not": {}}, **fields)
