"""The official OpenAI client for Python runs the session against the real server with a scripted model."""
import json
import re

import openai
import pydantic
import pytest

import sessions
from scripted_serving import Scripted, call, turn


class Facts(pydantic.BaseModel):
    city: str
    degrees: int


@pytest.fixture
def server():
    with Scripted(sessions.TURNS) as running:
        yield running


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="any", max_retries=0) as made:
        yield made


def user(text):
    return {"role": "user", "content": text}


TOOL = {"type": "function", "function": {
    "name": "weather", "description": "tells the weather", "parameters": sessions.WEATHER, "strict": True}}


def test_chat_and_stream(client):
    plain = client.chat.completions.create(model="any", messages=[user(sessions.CHAT)])
    assert plain.choices[0].message.content == sessions.HELLO
    assert plain.choices[0].finish_reason == "stop"
    with client.chat.completions.stream(model="any", messages=[user(sessions.STREAM)]) as stream:
        seen = [e.delta for e in stream if e.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(seen) == final.choices[0].message.content == sessions.COUNT
    assert len(seen) > 3, "it came piece by piece"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_loop_of_two_steps(client, server, streamed):
    messages = [user(sessions.TOOLS)]
    asked = []
    for _ in range(5):
        fields = {"model": "any", "messages": messages, "tools": [TOOL]}
        if streamed:
            with client.chat.completions.stream(**fields) as stream:
                choice = stream.get_final_completion().choices[0]
        else:
            choice = client.chat.completions.create(**fields).choices[0]
        if choice.finish_reason != "tool_calls":
            break
        [call] = choice.message.tool_calls
        assert call.type == "function" and call.function.name == "weather" and call.id
        messages.append({"role": "assistant", "content": choice.message.content, "tool_calls": [
            {"id": call.id, "type": "function",
             "function": {"name": call.function.name, "arguments": call.function.arguments}}]})
        asked.append(json.loads(call.function.arguments)["city"])
        messages.append({"role": "tool", "tool_call_id": call.id, "content": sessions.DEGREES[asked[-1]]})
    assert asked == ["Paris", "Oslo"]
    assert messages[1]["content"].strip() == "I shall ask.", "text before the call is kept"
    assert choice.message.content == sessions.WARMER and choice.finish_reason == "stop"
    sessions.check_tool_prompts(server)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_custom_tool_takes_text_and_its_call_goes_back(streamed):
    tools = [{"type": "custom", "custom": {"name": "sql", "description": "Asks the database."}}]
    said = call("sql", input="select \"a\"\nfrom t")
    with Scripted([turn(said, unless="three rows"), turn("Three.", when=["select", "three rows"])]) as server:
        with openai.OpenAI(base_url=server.url + "/v1", api_key="any", max_retries=0) as client:
            messages = [user("How many?")]
            fields = {"model": "any", "messages": messages, "tools": tools}
            if streamed:
                parts = [p for c in client.chat.completions.create(**fields, stream=True)
                         for p in (c.choices[0].delta.tool_calls or [])]
                head, rest = (p.model_dump(exclude_none=True) for p in parts)
                made = {**head, "custom": {"name": head["custom"]["name"], "input": rest["custom"]["input"]}}
                made.pop("index")
            else:
                answer = client.chat.completions.create(**fields).choices[0]
                assert answer.finish_reason == "tool_calls"
                made = answer.message.tool_calls[0].model_dump()
            assert made["type"] == "custom"
            assert made["custom"] == {"name": "sql", "input": "select \"a\"\nfrom t"}
            messages += [{"role": "assistant", "content": None, "tool_calls": [made]},
                         {"role": "tool", "tool_call_id": made["id"], "content": "three rows"}]
            assert client.chat.completions.create(**fields).choices[0].message.content == "Three."


def test_a_custom_tools_regular_expression_holds_a_real_model(real_server):
    with openai.OpenAI(base_url=real_server.url + "/v1", api_key="any", max_retries=0) as client:
        grammar = {"syntax": "regex", "definition": "[0-9]{4}-[01][0-9]"}
        answer = client.chat.completions.create(
            model="any", temperature=0, max_tokens=60, messages=[user("Which month is it?")],
            tools=[{"type": "custom", "custom": {"name": "month", "format": {"type": "grammar", "grammar": grammar}}}],
            tool_choice={"type": "custom", "custom": {"name": "month"}})
    made = answer.choices[0].message.tool_calls[0]
    assert made.type == "custom" and re.fullmatch("[0-9]{4}-[01][0-9]", made.custom.input)


def test_a_schema(client):
    parsed = client.chat.completions.parse(
        model="any", messages=[user(sessions.SCHEMA)], response_format=Facts).choices[0].message.parsed
    assert parsed == Facts(**sessions.FACTS)


def test_a_stream_that_is_closed_ends_the_row(client, server):
    stream = client.chat.completions.create(model="any", messages=[user(sessions.SONG)], stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    sessions.check_cancelled(server)


def test_the_responses_wire(client, server):
    plain = client.responses.create(model="any", input=sessions.CHAT)
    assert plain.output_text == sessions.HELLO and plain.status == "completed"
    with client.responses.stream(model="any", input=sessions.STREAM) as stream:
        seen = [e.delta for e in stream if e.type == "response.output_text.delta"]
        assert "".join(seen) == stream.get_final_response().output_text == sessions.COUNT
    tool = {"type": "function", "name": "weather", "parameters": sessions.WEATHER, "strict": True}
    answer = client.responses.create(model="any", input=sessions.TOOLS, tools=[tool])
    for city in ("Paris", "Oslo"):
        [call] = [item for item in answer.output if item.type == "function_call"]
        assert json.loads(call.arguments) == {"city": city}
        answer = client.responses.create(
            model="any", previous_response_id=answer.id, tools=[tool],
            input=[{"type": "function_call_output", "call_id": call.call_id, "output": sessions.DEGREES[city]}])
    assert answer.output_text == sessions.WARMER
    sessions.check_tool_prompts(server)
    parsed = client.responses.parse(model="any", input=sessions.SCHEMA, text_format=Facts)
    assert parsed.output_parsed == Facts(**sessions.FACTS)
