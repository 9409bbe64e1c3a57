"""The official Anthropic client for Python runs the session against the real server with a scripted model."""
import anthropic
import pytest

import sessions
from scripted_serving import Scripted

TOOL = {"name": "weather", "description": "tells the weather", "input_schema": sessions.WEATHER}
COMMON = {"model": "any", "max_tokens": 500}


@pytest.fixture
def server():
    with Scripted(sessions.TURNS) as running:
        yield running


@pytest.fixture
def client(server):
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as made:
        yield made


def user(content):
    return {"role": "user", "content": content}


def test_chat_stream_and_count(client):
    plain = client.messages.create(messages=[user(sessions.CHAT)], **COMMON)
    assert [block.text for block in plain.content] == [sessions.HELLO]
    assert plain.stop_reason == "end_turn" and plain.usage.output_tokens > 0
    with client.messages.stream(messages=[user(sessions.STREAM)], **COMMON) as stream:
        seen = list(stream.text_stream)
        final = stream.get_final_message()
    assert "".join(seen) == final.content[0].text == sessions.COUNT
    assert len(seen) > 3, "it came piece by piece"
    counted = client.messages.count_tokens(model="any", messages=[user(sessions.CHAT)])
    assert counted.input_tokens == plain.usage.input_tokens


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_loop_of_two_steps(client, server, streamed):
    messages, asked = [user(sessions.TOOLS)], []
    for _ in range(5):
        fields = {"messages": messages, "tools": [TOOL], **COMMON}
        if streamed:
            with client.messages.stream(**fields) as stream:
                answer = stream.get_final_message()
        else:
            answer = client.messages.create(**fields)
        messages.append({"role": "assistant", "content": answer.content})
        if answer.stop_reason != "tool_use":
            break
        [call] = [block for block in answer.content if block.type == "tool_use"]
        assert call.name == "weather"
        asked.append(call.input["city"])
        messages.append(user([{"type": "tool_result", "tool_use_id": call.id,
                               "content": sessions.DEGREES[asked[-1]]}]))
    assert asked == ["Paris", "Oslo"]
    assert messages[1]["content"][0].text.strip() == "I shall ask.", "text before the call is kept"
    assert [block.text for block in answer.content] == [sessions.WARMER]
    assert answer.stop_reason == "end_turn"
    sessions.check_tool_prompts(server)


def test_a_stream_that_is_closed_ends_the_row(client, server):
    with client.messages.stream(messages=[user(sessions.SONG)], model="any", max_tokens=9000) as stream:
        next(iter(stream.text_stream))
    sessions.check_cancelled(server)


def test_errors_are_the_clients_own_classes(server):
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as client:
        with pytest.raises(anthropic.BadRequestError) as refused:
            client.messages.create(model="any", max_tokens=5, messages=[user("x")],
                                   extra_body={"temperature": -1})
        assert "temperature" in refused.value.message
        with pytest.raises(anthropic.BadRequestError) as overflow:
            client.messages.create(messages=[user("word " * 40000)], **COMMON)
        assert "prompt is too long" in str(overflow.value)
