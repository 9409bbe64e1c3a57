"""The official OpenAI and Anthropic clients for Node run the session against the real server with a scripted model."""
import json

import sessions
from scripted_serving import Scripted

SESSION = json.dumps({
    "chat": sessions.CHAT, "stream": sessions.STREAM, "tools": sessions.TOOLS, "facts": sessions.SCHEMA,
    "song": sessions.SONG, "weather": sessions.WEATHER, "schema": sessions.FACTS_SCHEMA, "degrees": sessions.DEGREES})


def check_common(seen):
    assert seen["chat"] == sessions.HELLO
    assert seen["stream"] == "".join(seen["pieces"]) == sessions.COUNT and len(seen["pieces"]) > 3
    assert seen["asked"] == ["Paris", "Oslo", "Paris", "Oslo"], "once plain, once streamed"
    assert seen["tools"] == seen["tools_streamed"] == sessions.WARMER


def check_song_cancelled(server):
    ends = {row["turn"]: row for row in server.ended(len(server.prompts())) if row["cancelled"]}
    song = len(sessions.TURNS) - 1
    assert list(ends) == [song] and ends[song]["tokens"] < 3000


def test_openai():
    with Scripted(sessions.TURNS) as server:
        seen = sessions.run_node("openai.mjs", server.url, SESSION)
        check_common(seen)
        check_song_cancelled(server)
    assert seen["facts"] == sessions.FACTS
    assert seen["response"] == sessions.HELLO and seen["response_stream"] == sessions.COUNT
    assert {"response.created", "response.output_text.delta", "response.completed"} <= set(seen["events"])
    assert seen["error"] == {"name": "BadRequestError", "status": 400, "param": "temperature"}
    assert seen["models"] == ["scripted"]


def test_anthropic():
    with Scripted(sessions.TURNS) as server:
        seen = sessions.run_node("anthropic.mjs", server.url, SESSION)
        check_common(seen)
        check_song_cancelled(server)
    assert seen["stop_reason"] == "end_turn"
    assert seen["counted"] == seen["input_tokens"] > 0
    assert seen["error"] == {"name": "BadRequestError", "status": 400, "type": "invalid_request_error"}
