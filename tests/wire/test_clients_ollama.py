"""The official Ollama client for Python runs the session against the real server with a scripted model."""
import json

import ollama
import pytest

import sessions
from scripted_serving import Scripted


@pytest.fixture
def server():
    with Scripted(sessions.TURNS) as running:
        yield running


@pytest.fixture
def client(server):
    return ollama.Client(host=server.url)


def user(text):
    return {"role": "user", "content": text}


def weather(city: str) -> str:
    """Tells the weather.

    Args:
      city: where
    """
    return sessions.DEGREES[city]


def test_chat_stream_and_the_models(client):
    plain = client.chat(model="scripted", messages=[user(sessions.CHAT)])
    assert plain.message.content == sessions.HELLO and plain.done and plain.done_reason == "stop"
    parts = list(client.chat(model="scripted", messages=[user(sessions.STREAM)], stream=True))
    assert "".join(part.message.content for part in parts) == sessions.COUNT
    assert len(parts) > 4 and parts[-1].done and parts[-1].eval_count > 0
    assert [model.model for model in client.list().models] == ["scripted"] or client.list().models[0].model.startswith(
        "scripted")
    assert "tools" in client.show("scripted").capabilities
    assert len(client.ps().models) == 1


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_loop_of_two_steps(client, server, streamed):
    messages, asked = [user(sessions.TOOLS)], []
    for _ in range(5):
        answer = client.chat(model="scripted", messages=messages, tools=[weather], stream=streamed)
        parts = list(answer) if streamed else [answer]
        calls = [call for part in parts for call in part.message.tool_calls or []]
        content = "".join(part.message.content or "" for part in parts)
        messages.append({"role": "assistant", "content": content, "tool_calls": calls})
        if not calls:
            break
        assert calls[0].function.name == "weather"
        asked.append(calls[0].function.arguments["city"])
        messages.append({"role": "tool", "tool_name": "weather", "content": weather(**calls[0].function.arguments)})
    assert asked == ["Paris", "Oslo"]
    assert content == sessions.WARMER
    sessions.check_tool_prompts(server)


def test_a_schema_and_generate(client):
    answer = client.chat(model="scripted", messages=[user(sessions.SCHEMA)], format=sessions.FACTS_SCHEMA)
    assert json.loads(answer.message.content) == sessions.FACTS
    generated = client.generate(model="scripted", prompt=sessions.CHAT)
    assert generated.response == sessions.HELLO and generated.done


def test_a_stream_that_is_closed_ends_the_row(client, server):
    parts = client.chat(model="scripted", messages=[user(sessions.SONG)], stream=True)
    next(parts)
    parts.close()
    sessions.check_cancelled(server)


def test_errors_are_the_clients_own_class(client):
    with pytest.raises(ollama.ResponseError) as refused:
        client.chat(model="scripted", messages=[user("nothing in the script says this")])
    assert refused.value.status_code == 400 and "the script has no turn" in refused.value.error
