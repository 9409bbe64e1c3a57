"""Responses through OpenAI's own client, against the real server, and every event against the client's types."""
import json

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.input_token_count_response import InputTokenCountResponse
from openai.types.responses.response_item_list import ResponseItemList

from scripted_serving import Scripted, call, turn
from strict import check, events

OURS = {"status", "store", "bytes"}  # of custom tool calls and of logprobs; OpenAI says them, its types do not
LOOK = {"type": "function", "name": "look", "description": "Looks something up", "parameters": {
    "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "ok": {"type": "boolean"}},
          "required": ["n", "ok"], "additionalProperties": False}

def client_of(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="any", max_retries=0)


@pytest.fixture(scope="module")
def client(server):
    with client_of(server) as made:
        yield made


def raw_events(server, **body):
    """Checked events; their numbers rise by one, their items' ids and places agree."""
    with server.http.stream("POST", "/v1/responses", json={"stream": True, **body}) as response:
        assert response.status_code == 200, response.read()
        out = list(events(response))
    items = {}
    for i, event in enumerate(out):
        check(ResponseStreamEvent, event, OURS)
        assert event["sequence_number"] == i
        if event["type"] == "response.output_item.added":
            assert event["output_index"] == len(items)
            items[event["output_index"]] = event["item"]["id"]
        if "item_id" in event:
            assert event["item_id"] == items[event["output_index"]]
    return out


def test_a_response_and_its_stream_are_the_same_answer(client):
    fields = {"model": "any", "max_output_tokens": 20, "input": "Say something.", "temperature": 0}
    plain = client.responses.create(**fields)
    assert plain.status == "incomplete" and plain.incomplete_details.reason == "max_output_tokens"
    assert plain.usage.output_tokens == 20
    assert plain.usage.total_tokens == plain.usage.input_tokens + 20
    with client.responses.stream(**fields) as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
    assert text == plain.output_text
    assert plain.max_output_tokens == 20 and plain.temperature == 0


def test_every_event_is_one_of_the_clients_types(server):
    out = raw_events(server, input=[{"role": "developer", "content": "Be brief."}, {"role": "user", "content": [
        {"type": "input_text", "text": "Use look for x, then stop."}]}], tools=[LOOK], max_output_tokens=12)
    kinds = [e["type"] for e in out]
    assert kinds[:4] == ["response.created", "response.in_progress", "response.output_item.added",
                         "response.content_part.added"]
    assert kinds[-4:] == ["response.output_text.done", "response.content_part.done", "response.output_item.done",
                          "response.incomplete"]
    whole = server.http.post("/v1/responses", json={"input": "hi", "max_output_tokens": 5, "tools": [LOOK]}).json()
    check(Response, whole, OURS)
    assert {"id", "object", "model", "status", "output", "usage"} <= set(out[-1]["response"])


def test_reasoning_text_and_a_call_are_items_one_after_the_other():
    said = "I will look.\n" + call("look", q="x")
    body = {"input": "Look.", "tools": [LOOK], "reasoning": {"effort": "low", "summary": "auto"},
            "include": ["reasoning.encrypted_content"]}
    with Scripted([turn(said, times=0, reasoning="plan one")]) as server:
        out = raw_events(server, **body)
        with client_of(server).responses.stream(model="any", **body) as stream:
            final = stream.get_final_response()
    response = out[-1]["response"]
    assert out[-1]["type"] == "response.completed"
    assert [i["type"] for i in response["output"]] == ["reasoning", "message", "function_call"]
    assert [i.type for i in final.output] == ["reasoning", "message", "function_call"]
    reasoning, message, function = response["output"]
    assert reasoning["summary"][0]["text"].strip() == "plan one" and reasoning["encrypted_content"]
    assert message["content"][0]["text"].strip() == "I will look."
    assert function["name"] == "look" and function["call_id"].startswith("call_")
    assert function["arguments"].replace(" ", "") == '{"q":"x"}'
    done = [e["item"] for e in out if e["type"] == "response.output_item.done"]
    assert done == response["output"]


def test_a_tool_loop_of_two_steps_through_stored_responses():
    turns = [turn(call("look", q="first")), turn(call("look", q="second"), when="result one"),
             turn("Both found.", when="result two")]
    results = {'"first"': "result one", '"second"': "result two"}
    with Scripted(turns) as server:
        client = client_of(server)
        answer = client.responses.create(model="any", input="Look twice.", tools=[LOOK], instructions="Be kind.")
        for _ in range(2):
            outputs = [{"type": "function_call_output", "call_id": item.call_id,
                        "output": next(r for q, r in results.items() if q in item.arguments)}
                       for item in answer.output if item.type == "function_call"]
            answer = client.responses.create(
                model="any", input=outputs, tools=[LOOK], previous_response_id=answer.id)
        assert answer.output_text == "Both found."
        assert "Be kind." in server.prompts()[2] and "result one" in server.prompts()[2]
        assert answer.instructions == "Be kind."


def test_a_custom_tool_gets_its_text_as_it_is():
    tools = [{"type": "custom", "name": "apply_patch", "description": "Applies a patch."}, {"type": "web_search"}]
    with Scripted([turn(call("apply_patch", input="*** Begin\n+x")), turn("Applied.", when="patched")]) as server:
        out = raw_events(server, input="Patch.", tools=tools)
        item = out[-1]["response"]["output"][0]
        assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", "*** Begin\n+x")
        assert "response.custom_tool_call_input.delta" in [e["type"] for e in out]
        again = server.http.post("/v1/responses", json={"tools": tools, "input": [
            {"role": "user", "content": "Patch."}, item,
            {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "patched"}]}).json()
        assert again["output"][0]["content"][0]["text"] == "Applied."


def test_logprobs_of_the_text_where_they_are_included(server, client):
    fields = {"model": "any", "input": "Say something.", "max_output_tokens": 8, "temperature": 0,
              "include": ["message.output_text.logprobs"], "top_logprobs": 3}
    plain = client.responses.create(**fields)
    entries = plain.output[0].content[0].logprobs
    assert len(entries) == 8 and plain.top_logprobs == 3
    assert all(len(e.top_logprobs) == 3 and e.top_logprobs[0].token == e.token for e in entries)
    whole = b"".join(bytes(e.bytes) for e in entries)
    assert whole.decode(errors="replace").strip("\ufffd ") == plain.output_text.strip("\ufffd ")
    told = raw_events(server, **{**fields, "input": "Say something."})
    streamed = [e for event in told if event["type"] == "response.output_text.delta" for e in event["logprobs"]]
    assert streamed == [e.model_dump() for e in entries]
    assert client.responses.create(**{**fields, "include": [], "top_logprobs": 0}).output[0].content[0].logprobs == []


def test_a_stored_response_is_shown_listed_gone_on_from_and_deleted():
    with Scripted([turn("Hello."), turn("And on.", when="Hello.", times=0)]) as server:
        client = client_of(server)
        first = client.responses.create(model="any", input="Hi there", instructions="Be kind.")
        assert client.responses.retrieve(first.id).output_text == "Hello."
        listed = server.http.get(f"/v1/responses/{first.id}/input_items").json()
        items = check(ResponseItemList, listed)
        assert [i.content[0].text for i in items.data] == ["Hi there"]
        second = client.responses.create(model="any", input="Go on", previous_response_id=first.id)
        assert second.output_text == "And on." and second.previous_response_id == first.id
        pages = list(client.responses.input_items.list(second.id, order="asc", limit=1))
        assert [i.content[0].text for i in pages] == ["Hi there", "Hello.", "Go on"]
        assert server.http.get("/stats").json()["response_store"]["entries"] == 2
        client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError, match=first.id):
            client.responses.retrieve(first.id)
        with pytest.raises(openai.NotFoundError, match=first.id):
            client.responses.create(model="any", input="Go on", previous_response_id=first.id)
        kept = client.responses.create(model="any", input="Go on", previous_response_id=second.id)
        assert kept.output_text == "And on.", "a response holds all that it went on from"
        unstored = client.responses.create(model="any", input="Hello.", store=False)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(unstored.id)


def test_a_failed_response_is_told_so_and_not_stored():
    with Scripted([turn("half of", finish="error")]) as server:
        out = raw_events(server, input="Hi")
        assert [e["type"] for e in out[-2:]] == ["error", "response.failed"]
        failed = out[-1]["response"]
        assert failed["status"] == "failed" and failed["error"]["code"] == "server_error"
        assert server.http.get("/v1/responses/" + failed["id"]).status_code == 404
        assert server.http.get("/stats").json()["response_store"]["entries"] == 0


def test_counted_input_tokens_are_those_of_the_real_call(server, client):
    body = {"input": [{"role": "user", "content": "hi"}], "instructions": "Be kind.", "tools": [LOOK]}
    counted = check(InputTokenCountResponse, server.http.post("/v1/responses/input_tokens", json=body).json())
    real = client.responses.create(model="any", max_output_tokens=1, **body)
    assert counted.input_tokens == real.usage.input_tokens
    assert client.responses.input_tokens.count(model="any", input="hi").input_tokens > 0


def test_truncation_drops_the_oldest_turns_whole(server):
    turns = [{"role": "developer", "content": "Stay."}]
    for i in range(12):
        turns += [{"role": "user", "content": f"turn {i} " + "word " * 600}, {"role": "assistant", "content": "ok"}]
    turns.append({"role": "user", "content": "last"})
    body = {"input": turns, "max_output_tokens": 2}
    refused = server.http.post("/v1/responses", json=body)
    assert refused.status_code == 400 and refused.json()["error"]["code"] == "context_length_exceeded"
    cut = server.http.post("/v1/responses", json={**body, "truncation": "auto"}).json()
    assert 2048 < cut["usage"]["input_tokens"] < 4096
    assert cut["truncation"] == "auto"


def test_a_probe_of_nothing_is_answered(server):
    probe = server.http.post("/v1/responses", json={"input": "", "max_output_tokens": 1})
    assert probe.status_code == 200 and probe.json()["usage"]["output_tokens"] == 1
    assert server.http.post("/v1/responses", json={"input": ""}).status_code == 400


ERRORS = [
    ({"input": 5}, 400, None, "input"),
    ({"input": "x", "previous_response_id": {"id": 1}}, 400, None, "previous_response_id"),
    ({"input": "x", "previous_response_id": "resp_unknown"}, 404, "response_not_found", "resp_unknown"),
    ({}, 400, None, "input"),
    ({"input": "x", "background": True}, 400, "unsupported_parameter", "background"),
    ({"input": "x", "conversation": "conv_1"}, 400, "unsupported_parameter", "conversation"),
    ({"input": "x", "prompt": {"id": "p"}}, 400, "unsupported_parameter", "prompt"),
    ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]}]},
     400, None, "text only"),
]


@pytest.mark.parametrize("body, status, code, text", ERRORS)
def test_errors_name_what_is_wrong(server, body, status, code, text):
    response = server.http.post("/v1/responses", json=body)
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error" and error["code"] == code
    assert text in error["message"]


def test_a_schema_and_a_forced_call_hold_a_real_model(real_server):
    asked = {"input": "Give n and ok.", "max_output_tokens": 80, "temperature": 0}
    constrained = check(Response, real_server.http.post("/v1/responses", json={
        **asked, "text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA, "strict": True}}}).json(), OURS)
    assert set(json.loads(constrained.output[0].content[0].text)) == {"n", "ok"}
    assert constrained.status == "completed"
    forced = check(Response, real_server.http.post("/v1/responses", json={
        **asked, "tools": [LOOK, {"type": "function", "name": "set", "parameters": SCHEMA}],
        "tool_choice": {"type": "function", "name": "set"}}).json(), OURS)
    assert [i.type for i in forced.output] == ["function_call"]
    assert set(json.loads(forced.output[0].arguments)) == {"n", "ok"}
