"""Messages through Anthropic's own client, against the real server, and every frame against the client's types."""
import json

import anthropic
import httpx
import pytest
from anthropic.types import Message, MessageTokensCount, RawMessageStreamEvent

from scripted_serving import Scripted, call, turn
from strict import check, events

QUESTION = [{"role": "user", "content": "Say something."}]
GREEDY = {"extra_body": {"temperature": 0}}  # the client has no argument for it any more
LOOK = {"name": "look", "description": "Looks something up", "input_schema": {
    "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "ok": {"type": "boolean"}},
          "required": ["n", "ok"], "additionalProperties": False}

def client_of(server):
    return anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0)


@pytest.fixture(scope="module")
def client(server):
    with client_of(server) as made:
        yield made


def raw_events(server, **body):
    with server.http.stream("POST", "/v1/messages", json={"stream": True, "max_tokens": 30, **body}) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream"
        return [check(RawMessageStreamEvent, e) if e["type"] != "ping" else e for e in events(response)]


def test_a_message_and_its_stream_are_the_same_answer(client):
    fields = {"model": "any", "max_tokens": 20, "messages": QUESTION, **GREEDY}
    plain = client.messages.create(**fields)
    assert plain.stop_reason == "max_tokens" and plain.stop_sequence is None
    assert plain.usage.output_tokens == 20
    with client.messages.stream(**fields) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == final.content[0].text == plain.content[0].text
    assert final.usage == plain.usage
    assert final.id.startswith("msg_") and final.id != plain.id


def test_every_frame_is_one_of_the_clients_types(server):
    frames = raw_events(server, messages=QUESTION, temperature=0)
    kinds = [f["type"] if isinstance(f, dict) else f.type for f in frames]
    assert kinds[:3] == ["message_start", "ping", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[3:-3]) == {"content_block_delta"}
    body = server.http.post("/v1/messages", json={"messages": QUESTION, "max_tokens": 8}).json()
    message = check(Message, body)
    assert frames[0].message.usage.input_tokens == message.usage.input_tokens > 0


def test_a_stop_sequence_is_told(server, client):
    full = client.messages.create(model="any", max_tokens=24, messages=QUESTION, **GREEDY).content[0].text
    stop = full[len(full) // 2:][:3]
    cut = client.messages.create(model="any", max_tokens=24, messages=QUESTION, stop_sequences=[stop], **GREEDY)
    assert (cut.stop_reason, cut.stop_sequence) == ("stop_sequence", stop)
    assert cut.content[0].text == full[:full.index(stop)]


def test_a_trailing_turn_of_the_models_own_is_gone_on_from(server):
    with Scripted([turn(" Paris.", times=0)]) as scripted:
        answer = client_of(scripted).messages.create(model="any", max_tokens=9, messages=[
            {"role": "user", "content": "Capital of France?"}, {"role": "assistant", "content": "The capital is"}])
        assert answer.content[0].text == " Paris."
        assert scripted.prompts()[0].endswith("<|im_start|>assistant\nThe capital is")


ODD = {
    "system": [{"type": "text", "text": "x-anthropic-billing-header: cch=1a2b;"},
               {"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "B"}],
    "thinking": {"type": "enabled", "budget_tokens": 1024}, "metadata": {"user_id": "u"}, "service_tier": "auto",
    "context_management": {"edits": []}, "container": None, "mcp_servers": [],
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "signature": "from-elsewhere"},
            {"type": "redacted_thinking", "data": "zz"},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True,
             "content": [{"type": "text", "text": "no such page"}]},
            {"type": "future_block", "x": 1}, {"type": "text", "text": "continue"}]}],
    "tools": [LOOK, {"type": "web_search_20250305", "name": "web_search"}]}


def test_foreign_blocks_are_tolerated_and_what_they_say_reaches_the_model():
    with Scripted([turn("fine")]) as server:
        response = server.http.post("/v1/messages?beta=true", json={"max_tokens": 30, **ODD}, headers={
            "anthropic-version": "2023-06-01", "anthropic-beta": "interleaved-thinking-2025-05-14"})
        assert response.status_code == 200, response.text
        prompt = server.prompts()[0]
    assert "A\nB" in prompt and "billing" not in prompt
    assert "Error: no such page" in prompt and "continue" in prompt
    assert "web_search" not in prompt


def test_counted_tokens_are_those_of_the_real_call_and_no_row_runs_for_them():
    body = {"system": ODD["system"], "tools": ODD["tools"], "messages": ODD["messages"]}
    with Scripted([turn("fine", times=0)]) as server:
        counted = check(MessageTokensCount, server.http.post("/v1/messages/count_tokens", json=body).json())
        assert server.rows() == []
        usage = server.http.post("/v1/messages", json={"max_tokens": 1, **body}).json()["usage"]
        assert counted.input_tokens == (
            usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"])
        client = client_of(server)
        assert client.messages.count_tokens(model="any", messages=QUESTION).input_tokens > 0


def test_thinking_text_and_a_call_are_blocks_one_after_the_other():
    said = "I will look.\n" + call("look", q="x")
    body = {"messages": QUESTION, "tools": [LOOK], "thinking": {"type": "enabled", "budget_tokens": 1024},
            "max_tokens": 200}
    with Scripted([turn(said, times=0, reasoning="plan one")]) as server:
        frames = raw_events(server, **body)
        blocks, open_block = [], None
        for f in frames:
            if isinstance(f, dict):
                continue
            if f.type == "content_block_start":
                assert open_block is None and f.index == len(blocks)
                open_block = f.index
                blocks.append(f.content_block.type)
            elif f.type in ("content_block_delta", "content_block_stop"):
                assert f.index == open_block
                open_block = None if f.type == "content_block_stop" else open_block
        assert blocks == ["thinking", "text", "tool_use"]
        assert frames[-2].delta.stop_reason == "tool_use"
        with client_of(server).messages.stream(model="any", **body) as stream:
            streamed = stream.get_final_message()
        plain = check(Message, server.http.post("/v1/messages", json=body).json())
    assert [b.type for b in plain.content] == blocks
    thinking, text, use = plain.content
    assert thinking.thinking.strip() == "plan one" and thinking.signature
    assert text.text.strip() == "I will look."
    assert use.input == {"q": "x"} and use.name == "look" and use.id.startswith("toolu_")
    assert [b.type for b in streamed.content] == blocks
    assert streamed.content[2].input == {"q": "x"} and streamed.content[1].text == text.text


def test_a_tool_loop_of_two_steps():
    turns = [turn(call("look", q="first")), turn(call("look", q="second"), when="result one"),
             turn("Both found.", when="result two")]
    results = {"first": "result one", "second": "result two"}
    with Scripted(turns) as server:
        client, messages = client_of(server), [{"role": "user", "content": "Look twice."}]
        for _ in range(3):
            answer = client.messages.create(model="any", max_tokens=99, messages=messages, tools=[LOOK])
            uses = [b for b in answer.content if b.type == "tool_use"]
            if not uses:
                break
            messages += [{"role": "assistant", "content": answer.content},
                         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": u.id,
                                                       "content": results[u.input["q"]]} for u in uses]}]
        assert answer.content[0].text == "Both found."
        assert answer.stop_reason == "end_turn"
        assert len(server.prompts()) == 3


def test_a_stream_that_is_closed_ends_its_row():
    with Scripted([turn("la " * 2000, token_delay_ms=5)]) as server:
        with client_of(server).messages.stream(model="any", max_tokens=4000, messages=QUESTION) as stream:
            next(iter(stream.text_stream))
        assert server.ended(1)[0]["cancelled"]


ERRORS = [
    ({"messages": []}, 400, "invalid_request_error", "messages required"),
    ({"messages": ["x"]}, 400, "invalid_request_error", "messages[0]"),
    ({"messages": [{"role": "user", "content": [{"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": "AA"}}]}]}, 400, "invalid_request_error", "text only"),
    ({"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "what"}}]}]},
     400, "invalid_request_error", "source.type"),
    ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
     400, "invalid_request_error", "/v1/chat/completions"),
    ({"messages": [{"role": "user", "content": "word " * 6000}]},
     400, "invalid_request_error", "prompt is too long: "),
]


@pytest.mark.parametrize("body, status, kind, text", ERRORS)
def test_errors_have_anthropics_envelope(server, body, status, kind, text):
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        if path.endswith("count_tokens") and "too long" in text:
            continue
        response = server.http.post(path, json={"max_tokens": 5, **body})
        assert response.status_code == status, response.text
        error = response.json()
        assert error["type"] == "error" and error["error"]["type"] == kind
        assert text in error["error"]["message"]
        assert error["request_id"] == response.headers["request-id"]


def test_an_over_long_prompt_is_told_with_both_numbers(client):
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 4095 maximum"):
        client.messages.create(model="any", max_tokens=5, messages=[{"role": "user", "content": "word " * 6000}])


def test_refusals_before_the_route_have_the_envelope_too(server):
    wrong_method = server.http.get("/v1/messages")
    assert wrong_method.status_code == 405 and wrong_method.json()["type"] == "error"
    unknown = server.http.post("/v1/messages/batches", json={})
    assert unknown.status_code == 404 and unknown.json()["error"]["type"] == "not_found_error"
    rebinding = server.http.post("/v1/messages", json={}, headers={"Host": "evil.example"})
    assert rebinding.status_code == 403 and rebinding.json()["error"]["type"] == "permission_error"
    not_json = server.http.post("/v1/messages", content=b"{")
    assert not_json.status_code == 400 and not_json.json()["type"] == "error"


def test_a_full_queue_is_a_rate_limit_error():
    with Scripted([turn(refuse="overloaded", times=0)]) as server:
        with pytest.raises(anthropic.RateLimitError) as full:
            client_of(server).messages.create(model="any", max_tokens=5, messages=QUESTION)
    assert full.value.response.headers["retry-after"] == "1"
    assert full.value.response.json()["error"]["type"] == "rate_limit_error"


def test_a_failure_after_the_start_is_an_error_event():
    with Scripted([turn("half of", finish="error")]) as server:
        with httpx.Client(base_url=server.url, timeout=60) as http, http.stream(
                "POST", "/v1/messages", json={"messages": QUESTION, "max_tokens": 9, "stream": True}) as response:
            frames = list(events(response))
    assert frames[-1]["type"] == "error" and frames[-1]["error"]["type"] == "api_error"
    assert not any(f["type"] == "message_stop" for f in frames)


def test_a_schema_and_a_forced_call_hold_a_real_model(real_server):
    asked = {"max_tokens": 80, "temperature": 0, "messages": [{"role": "user", "content": "Give n and ok."}]}
    constrained = real_server.http.post("/v1/messages", json={
        **asked, "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}).json()
    answer = json.loads(check(Message, constrained).content[0].text)
    assert set(answer) == {"n", "ok"} and isinstance(answer["n"], int) and isinstance(answer["ok"], bool)
    forced = check(Message, real_server.http.post("/v1/messages", json={
        **asked, "tools": [{"name": "set", "input_schema": SCHEMA}, LOOK],
        "tool_choice": {"type": "tool", "name": "set"}}).json())
    assert forced.stop_reason == "tool_use" and [b.type for b in forced.content] == ["tool_use"]
    assert forced.content[0].name == "set" and set(forced.content[0].input) == {"n", "ok"}
    refused = real_server.http.post("/v1/messages", json={
        **asked, "output_config": {"format": {"type": "json_schema", "schema": {"not": {}}}}})
    assert refused.status_code == 400 and '"not"' in refused.json()["error"]["message"]
