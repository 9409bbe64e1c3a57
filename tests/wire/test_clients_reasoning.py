"""Reasoning and parallel calls through the official clients, told back to the model in the next turn."""
import json

import anthropic
import ollama
import openai
import pytest

import sessions
from scripted_serving import Scripted, call, turn

ASK = "How many rivers?"
THOUGHT = "Seine and Rhine make two."
TAGS = "Which tag?"
STRAY = "A tag of its own line:\n<think>\nIt is never closed, and this is still the answer."
BOTH = "Weather of both, please."
TURNS = [
    turn("You are welcome.", when=[ASK, "Thanks."], reasoning="That was polite.", times=0),
    turn("Two.", when=ASK, reasoning=THOUGHT, times=0),
    turn(STRAY, when=TAGS, reasoning=THOUGHT, times=0),
    turn(sessions.WARMER, when=[BOTH, "18 degrees", "5 degrees"], times=0),
    turn("Both." + call("weather", city="Paris") + "\n" + call("weather", city="Oslo"), when=BOTH, times=0),
]


@pytest.fixture
def server():
    with Scripted(TURNS) as running:
        yield running


@pytest.fixture
def openai_client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="any", max_retries=0) as made:
        yield made


@pytest.fixture
def anthropic_client(server):
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as made:
        yield made


def user(content):
    return {"role": "user", "content": content}


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_thinking(anthropic_client, server, streamed):
    messages = [user(ASK)]
    fields = {"model": "any", "max_tokens": 3000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    if streamed:
        with anthropic_client.messages.stream(messages=messages, **fields) as stream:
            kinds = [event.type for event in stream]
            answer = stream.get_final_message()
        assert {"thinking", "text", "content_block_stop", "message_stop"} <= set(kinds)
    else:
        answer = anthropic_client.messages.create(messages=messages, **fields)
    thinking, text = answer.content
    assert thinking.type == "thinking" and thinking.thinking.strip() == THOUGHT
    assert text.text.strip() == "Two." and answer.stop_reason == "end_turn"
    messages += [{"role": "assistant", "content": answer.content}, user("Thanks.")]
    again = anthropic_client.messages.create(messages=messages, **fields)
    assert again.content[-1].text.strip() == "You are welcome."
    assert server.prompts()[-1].count("<|im_start|>assistant") == 2


@pytest.mark.parametrize("streamed", [False, True])
def test_openai_reasoning_content(openai_client, streamed):
    fields = {"model": "any", "messages": [user(ASK)],
              "extra_body": {"chat_template_kwargs": {"enable_thinking": True}}}
    if streamed:
        deltas = [chunk.choices[0].delta for chunk in openai_client.chat.completions.create(stream=True, **fields)
                  if chunk.choices]
        reasoning = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
        content = "".join(delta.content or "" for delta in deltas)
    else:
        message = openai_client.chat.completions.create(**fields).choices[0].message
        reasoning, content = message.reasoning_content, message.content
    assert reasoning.strip() == THOUGHT and content.strip() == "Two."


@pytest.mark.parametrize("streamed", [False, True])
def test_a_stray_opening_in_the_answer_swallows_nothing(server, openai_client, anthropic_client, streamed):
    thinking = {"chat_template_kwargs": {"enable_thinking": True}}
    body = {"model": "any", "messages": [user(TAGS)], "extra_body": thinking}
    if streamed:
        chunks = openai_client.chat.completions.create(stream=True, **body)
        content = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    else:
        content = openai_client.chat.completions.create(**body).choices[0].message.content
    assert content.strip() == STRAY
    answer = anthropic_client.messages.create(max_tokens=3000, **body)
    assert [b.type for b in answer.content] == ["thinking", "text"] and answer.content[1].text.strip() == STRAY


def test_a_response_has_a_reasoning_item_that_may_be_sent_back(openai_client):
    fields = {"model": "any", "reasoning": {"effort": "medium"}, "store": False,
              "include": ["reasoning.encrypted_content"]}
    answer = openai_client.responses.create(input=[user(ASK)], **fields)
    assert [item.type for item in answer.output] == ["reasoning", "message"]
    assert answer.output[0].encrypted_content and answer.usage.output_tokens_details.reasoning_tokens > 0
    again = openai_client.responses.create(input=[user(ASK), *answer.output, user("Thanks.")], **fields)
    assert again.output_text.strip() == "You are welcome."


@pytest.mark.parametrize("streamed", [False, True])
def test_ollama_think(server, streamed):
    client = ollama.Client(host=server.url)
    answer = client.chat(model="scripted", messages=[user(ASK)], think=True, stream=streamed)
    parts = list(answer) if streamed else [answer]
    assert "".join(part.message.thinking or "" for part in parts).strip() == THOUGHT
    assert "".join(part.message.content or "" for part in parts).strip() == "Two."
    plain = client.chat(model="scripted", messages=[user(ASK)], think=False)
    assert plain.message.content.strip() == "Two." and not plain.message.thinking


@pytest.mark.parametrize("streamed", [False, True])
def test_parallel_calls_of_openai(openai_client, streamed):
    tool = {"type": "function", "function": {"name": "weather", "parameters": sessions.WEATHER}}
    messages = [user(BOTH)]
    fields = {"model": "any", "messages": messages, "tools": [tool]}
    if streamed:
        with openai_client.chat.completions.stream(**fields) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = openai_client.chat.completions.create(**fields).choices[0].message
    cities = [json.loads(one.function.arguments)["city"] for one in message.tool_calls]
    assert cities == ["Paris", "Oslo"] and len({one.id for one in message.tool_calls}) == 2
    messages.append({"role": "assistant", "content": message.content, "tool_calls": [
        one.model_dump(include={"id", "type", "function"}) for one in message.tool_calls]})
    messages += [{"role": "tool", "tool_call_id": one.id, "content": sessions.DEGREES[city]}
                 for one, city in zip(message.tool_calls, cities)]
    last = openai_client.chat.completions.create(model="any", messages=messages, tools=[tool])
    assert last.choices[0].message.content == sessions.WARMER


def test_parallel_calls_of_anthropic_and_how_they_are_refused(anthropic_client, server):
    tool = {"name": "weather", "input_schema": sessions.WEATHER}
    fields = {"model": "any", "max_tokens": 500, "tools": [tool]}
    answer = anthropic_client.messages.create(messages=[user(BOTH)], **fields)
    calls = [block for block in answer.content if block.type == "tool_use"]
    assert [one.input["city"] for one in calls] == ["Paris", "Oslo"]
    results = [{"type": "tool_result", "tool_use_id": one.id, "content": sessions.DEGREES[one.input["city"]]}
               for one in calls]
    last = anthropic_client.messages.create(
        messages=[user(BOTH), {"role": "assistant", "content": answer.content}, user(results)], **fields)
    assert last.content[0].text == sessions.WARMER
    single = anthropic_client.messages.create(
        messages=[user(BOTH)], tool_choice={"type": "auto", "disable_parallel_tool_use": True}, **fields)
    assert [b.input["city"] for b in single.content if b.type == "tool_use"] == ["Paris"]
