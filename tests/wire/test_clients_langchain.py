"""LangChain's ChatOpenAI, unmodified, against the real server with a scripted model."""
import pydantic
import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

import sessions
from scripted_serving import Scripted


class Facts(pydantic.BaseModel):
    """What is known of a city."""

    city: str
    degrees: int


@tool
def weather(city: str) -> str:
    """Tells the weather."""
    return sessions.DEGREES[city]


@pytest.fixture
def server():
    with Scripted(sessions.TURNS) as running:
        yield running


@pytest.fixture
def model(server, monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    return ChatOpenAI(base_url=server.url + "/v1", api_key="any", model="any", max_retries=0)


def test_chat_and_stream_with_usage(model):
    answer = model.invoke(sessions.CHAT)
    assert answer.content == sessions.HELLO and answer.usage_metadata["output_tokens"] > 0
    streaming = model.model_copy(update={"stream_usage": True})
    chunks = list(streaming.stream(sessions.STREAM))
    assert "".join(chunk.content for chunk in chunks) == sessions.COUNT and len(chunks) > 4
    usage = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert len(usage) == 1 and usage[0]["output_tokens"] > 0, "counted once, not per chunk"


@pytest.mark.parametrize("streamed", [False, True])
def test_bind_tools(model, server, streamed):
    bound = model.bind_tools([weather])
    messages = [HumanMessage(sessions.TOOLS)]
    for _ in range(5):
        if streamed:
            answer = None
            for chunk in bound.stream(messages):
                answer = chunk if answer is None else answer + chunk
        else:
            answer = bound.invoke(messages)
        messages.append(answer)
        if not answer.tool_calls:
            break
        [call] = answer.tool_calls
        messages.append(ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"]))
    assert [m.content for m in messages if isinstance(m, ToolMessage)] == ["18 degrees", "5 degrees"]
    assert answer.content == sessions.WARMER
    sessions.check_tool_prompts(server)


@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
def test_with_structured_output(model, method):
    facts = model.with_structured_output(Facts, method=method).invoke(sessions.SCHEMA)
    assert facts == Facts(**sessions.FACTS)


def test_a_stream_that_is_closed_ends_the_row(model, server):
    stream = model.stream(sessions.SONG)
    next(stream)
    stream.close()
    sessions.check_cancelled(server)
