"""One exchange of every kind on every wire, as it crosses it: (type, wire, JSON of a body or frame)."""
import json

import sessions
import strict
from scripted_serving import Scripted, call, turn
from serving import frames

ASK = "Where is it warm?"
SAID = "I will ask." + call("weather", city="Paris") + "\n" + call("weather", city="Oslo")
TURNS = [turn(SAID, when=ASK, reasoning="Two cities.", times=0),
         turn(json.dumps(sessions.FACTS), when=sessions.SCHEMA, times=0), turn(sessions.HELLO, times=0)]
TOOL = {"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": sessions.WEATHER}}
FLAT = {"type": "function", **TOOL["function"], "strict": False}
CLAUDES = {"name": "weather", "description": "of a city", "input_schema": sessions.WEATHER}
THINK = {"chat_template_kwargs": {"enable_thinking": True}}
FORMAT = {"name": "facts", "schema": sessions.FACTS_SCHEMA, "strict": True}


def user(text):
    return [{"role": "user", "content": text}]


CHATS = [
    {"messages": user(sessions.CHAT), "stream_options": {"include_usage": True}},
    {"messages": user(sessions.CHAT), "logprobs": True, "top_logprobs": 2, "n": 2, "max_tokens": 3},
    {"messages": user(ASK), "tools": [TOOL], **THINK},
    {"messages": user(ASK), "functions": [TOOL["function"]]},
    {"messages": user(sessions.SCHEMA), "response_format": {"type": "json_schema", "json_schema": FORMAT}},
]
TEXTS = [{"prompt": "Once", "stream_options": {"include_usage": True}}, {"prompt": ["a", "b"], "logprobs": 2, "max_tokens": 3}]
MESSAGES = [
    {"messages": user(sessions.CHAT), "system": "Be kind."},
    {"messages": user(sessions.CHAT), "stop_sequences": ["dear"]},
    {"messages": user(ASK), "tools": [CLAUDES], "thinking": {"type": "enabled", "budget_tokens": 1024}},
]
RESPONSES = [
    {"input": sessions.CHAT, "instructions": "Be kind.", "metadata": {"a": "b"}},
    {"input": sessions.CHAT, "max_output_tokens": 2},
    {"input": ASK, "tools": [FLAT], "reasoning": {"effort": "low", "summary": "auto"},
     "include": ["reasoning.encrypted_content"]},
    {"input": sessions.SCHEMA, "text": {"format": {"type": "json_schema", **FORMAT}}},
]
OLLAMAS = [("/api/chat", "ollama.ChatResponse", {"messages": user(ASK), "tools": [TOOL], "think": True}),
           ("/api/chat", "ollama.ChatResponse", {"messages": user(sessions.CHAT), "logprobs": True, "top_logprobs": 2}),
           ("/api/generate", "ollama.GenerateResponse", {"prompt": sessions.CHAT})]


def body_of(server, path, body):
    answer = server.http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def streamed(server, path, body, read):
    with server.http.stream("POST", path, json={**body, "stream": True}) as response:
        assert response.status_code == 200, response.read()
        return list(read(response))


def openai_frames(response):
    chunks, done = frames(response)
    assert done
    return chunks


def record():
    out = []
    with Scripted(TURNS) as server:
        for path, bodies, plain, chunk in (
                ("/v1/chat/completions", CHATS, "openai.ChatCompletion", "openai.ChatCompletionChunk"),
                ("/v1/completions", TEXTS, "openai.Completion", "openai.Completion")):
            for body in bodies:
                out.append((plain, body_of(server, path, body)))
                out += [(chunk, frame) for frame in streamed(server, path, body, openai_frames)]
        for body in RESPONSES:
            out.append(("openai.Response", body_of(server, "/v1/responses", body)))
            out += [("openai.ResponseStreamEvent", event) for event in streamed(server, "/v1/responses", body, strict.events)]
        for body in MESSAGES:
            asked = {"max_tokens": 2000, **body}
            out.append(("anthropic.Message", body_of(server, "/v1/messages", asked)))
            out += [("anthropic.RawMessageStreamEvent", event) for event in streamed(server, "/v1/messages", asked, strict.events)
                    if event["type"] != "ping"]  # the clients drop it before they type it
            out.append(("anthropic.MessageTokensCount", body_of(server, "/v1/messages/count_tokens", body)))
        for path, kind, body in OLLAMAS:
            out.append((kind, body_of(server, path, {**body, "stream": False})))
            out += [(kind, json.loads(line)) for line in streamed(server, path, body, lambda r: r.iter_lines())]
        out.append(("openai.Model", server.http.get("/v1/models").json()["data"][0]))
    return out
