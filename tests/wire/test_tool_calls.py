"""Tool calls on OpenAI's chat wire, frame by frame: right ones, broken ones, forbidden ones."""
import json

import pytest

from scripted_serving import Scripted, call, turn
from serving import frames

PATH = "/v1/chat/completions"


def tool(name, *parameters):
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": {p: {"type": "string"} for p in parameters}}}}


TOOLS = [tool("find", "re"), tool("read", "p"), tool("stat")]
THREE = ('Checking.<tool_call>{"name":"read","arguments":{"p":"a.txt"}}</tool_call>'
         '<tool_call>{"name":"read","arguments":{"p":"b.txt"}}</tool_call>'
         '<tool_call>{"name":"stat","arguments":{}}</tool_call>')


def ask(said, finish="stop", **fields):
    """(plain choice, its chunks' choices) of one scripted answer, asked for twice."""
    body = {"messages": [{"role": "user", "content": "Go."}], "tools": TOOLS, **fields}
    with Scripted([turn(said, times=0, finish=finish)]) as server:
        plain = server.http.post(PATH, json=body)
        assert plain.status_code == 200, plain.text
        with server.http.stream("POST", PATH, json={**body, "stream": True}) as response:
            assert response.status_code == 200
            chunks, done = frames(response)
    assert done, "the stream ends in [DONE]"
    assert [c["choices"][0]["finish_reason"] is not None for c in chunks] == [False] * (len(chunks) - 1) + [True]
    return plain.json()["choices"][0], [c["choices"][0] for c in chunks]


def joined(choices):
    """(content, calls) of a stream: a call's first delta has its id, type and name, later ones arguments alone."""
    content, calls = "", []
    for choice in choices:
        content += choice["delta"].get("content") or ""
        for delta in choice["delta"].get("tool_calls", []):
            if delta["index"] == len(calls):
                assert delta["type"] == "function" and delta["id"] and delta["function"]["name"]
                calls.append({"id": delta["id"], "name": delta["function"]["name"], "arguments": ""})
            else:
                assert delta["index"] == len(calls) - 1
                assert not {"id", "type"} & set(delta) and set(delta["function"]) == {"arguments"}
            calls[-1]["arguments"] += delta["function"].get("arguments", "")
    return content, calls


def check_same(plain, choices):
    """The stream's content and calls, which are the plain answer's; every call's arguments are an object."""
    content, calls = joined(choices)
    assert (plain["message"]["content"] or "") == content
    told = plain["message"].get("tool_calls") or []
    assert [(c["function"]["name"], c["function"]["arguments"]) for c in told] == [(c["name"], c["arguments"]) for c in calls]
    assert plain["finish_reason"] == choices[-1]["finish_reason"]
    assert len({c["id"] for c in calls}) == len(calls)
    assert all(isinstance(json.loads(c["arguments"]), dict) for c in calls)
    return content, calls


def test_three_calls_in_one_answer():
    plain, choices = ask(THREE)
    content, calls = check_same(plain, choices)
    assert content == "Checking." and plain["finish_reason"] == "tool_calls"
    assert [(c["name"], json.loads(c["arguments"])) for c in calls] == [
        ("read", {"p": "a.txt"}), ("read", {"p": "b.txt"}), ("stat", {})]
    assert calls[2]["arguments"] == "{}"


def test_without_parallel_calls_the_first_alone_comes():
    plain, choices = ask(THREE, parallel_tool_calls=False)
    content, calls = check_same(plain, choices)
    assert content == "Checking." and [json.loads(c["arguments"]) for c in calls] == [{"p": "a.txt"}]
    assert plain["finish_reason"] == "tool_calls"


BROKEN = [  # what the model wrote, how it ended, the calls that it is mended to
    (r'<tool_call>{"name":"find","arguments":{"re":"\d+\.log"}}</tool_call>', "stop", [r"\d+\.log"]),
    ("<tool_call>{'name':'find','arguments':{'re':'x'}}</tool_call>", "stop", ["x"]),
    ('<tool_call>{"name":"find","arguments":{"re":"abc', "stop", []),
    ('<tool_call>{"name":"find","arguments":{"re":"abc', "length", []),
    ("<tool_call>not json at all</tool_call> after", "stop", []),
    ("<tool_call></tool_call>", "stop", []),
    ('<tool_call>{"name":"","arguments":{}}</tool_call>', "stop", []),
    ('<tool_call>{"name":"find","arguments":[1]}</tool_call>', "stop", []),
]


@pytest.mark.parametrize("said,finish,mended", BROKEN)
def test_a_broken_call_is_mended_or_given_back_as_content(said, finish, mended):
    plain, choices = ask(said, finish)
    content, calls = check_same(plain, choices)
    assert [json.loads(c["arguments"])["re"] for c in calls] == mended
    assert content == ("" if mended else said)
    assert plain["finish_reason"] == ("tool_calls" if mended else finish)


def test_a_call_that_follows_the_limit_does_not_change_the_reason():
    plain, choices = ask(call("stat") + " and", "length")
    _, calls = check_same(plain, choices)
    assert len(calls) == 1 and plain["finish_reason"] == "length"


CHOICES = ["auto", "required", {"type": "function", "function": {"name": "read"}}]


def test_without_tool_choice_none_the_tools_are_shown_and_with_it_not():
    body = {"messages": [{"role": "user", "content": "Go."}], "tools": TOOLS}
    with Scripted([turn("Fine.", times=0)]) as server:
        for choice in CHOICES:
            server.http.post(PATH, json={**body, "tool_choice": choice, "max_tokens": 1})
            assert '"read"' in server.prompts()[-1], choice
        answer = server.http.post(PATH, json={**body, "tool_choice": "none"}).json()["choices"][0]
        assert '"read"' not in server.prompts()[-1]
        assert answer["message"]["content"] == "Fine." and "tool_calls" not in answer["message"]
        unknown = server.http.post(PATH, json={**body, "tool_choice": {"type": "function", "function": {"name": "nope"}}})
        assert unknown.status_code == 400 and unknown.json()["error"]["param"] == "tool_choice"
