"""The server's manners: discovery, bodies, origins, names, content shapes."""
import json
import socket

import pytest

from serving import chat_body


def raw(server, data, until=b""):
    """What comes back for these bytes, until the server closes or `until` was read."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as s:
        s.sendall(data)
        out = b""
        while piece := s.recv(65536):
            out += piece
            if until and until in out:
                break
        return out


def test_health_is_exactly_mlx_lms_bytes(server):
    assert server.http.get("/health").content == b'{"status": "ok"}'


def test_v1_names_the_server_and_its_model(server):
    about = server.http.get("/v1").json()
    assert about["name"] == "hearth" and about["model"] == server.model == "tiny-chat"
    assert "POST /v1/chat/completions" in about["endpoints"]


@pytest.mark.parametrize("path,status", [
    ("/v1/models", 200), ("/models", 200), ("//v1//models", 200), ("/v1/models/", 200), ("/health", 200),
    ("/", 200), ("/v1/models?beta=true", 200), ("/v1/nothing", 404), ("/nothing", 404)])
def test_aliases_slashes_and_queries_reach_their_route(server, path, status):
    answer = server.http.get(path)
    assert answer.status_code == status
    if status == 404:
        assert "POST /v1/chat/completions" in answer.json()["error"]["routes"]


def test_posts_reach_their_aliases(server):
    body = chat_body("hi", max_tokens=2)
    for path in ("/chat/completions", "//v1/chat/completions", "/v1/chat/completions?beta=true"):
        assert server.http.post(path, json=body).status_code == 200
    for path in ("/v1/messages?beta=true", "/messages", "/v1//messages/", "/v1/responses/", "/responses"):
        asked = {"messages": body["messages"], "max_tokens": 2} if "messages" in path else {"input": "hi", "max_output_tokens": 2}
        assert server.http.post(path, json=asked).status_code == 200, path


@pytest.mark.parametrize("name", ["tiny-chat", "gpt-4o", "default", "", "../../secrets", "someone/unknown-model", None])
def test_with_any_model_every_name_means_the_served_one(server, name):
    answer = server.http.post("/v1/chat/completions", json={**chat_body("hi", max_tokens=2), "model": name})
    assert answer.status_code == 200
    assert answer.json()["model"] == "tiny-chat"


def test_null_and_unknown_fields_are_ignored(server):
    names = ["temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "n", "tools",
             "tool_choice", "logit_bias", "response_format", "stream", "stream_options", "logprobs", "user",
             "reasoning_effort"]
    body = {**chat_body("hi"), **dict.fromkeys(names), "store": False, "metadata": {}, "made_up_field": 1,
            "max_tokens": 3}
    assert server.http.post("/v1/chat/completions", json=body).status_code == 200


def test_empty_contents_are_alike(server):
    def prompt_tokens(message):
        body = {"max_tokens": 2, "messages": [{"role": "user", "content": "How many parcels are in bay 7?"}, {
            "role": "assistant", **message, "tool_calls": [{
                "id": "call_a1", "type": "function",
                "function": {"name": "count_parcels", "arguments": '{"bay":7}'}}]},
            {"role": "tool", "tool_call_id": "call_a1", "content": "19"}]}
        answer = server.http.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["usage"]["prompt_tokens"]

    variants = [{"content": None}, {}, {"content": ""}, {"content": []}]
    assert len({prompt_tokens(v) for v in variants}) == 1


def test_text_parts_make_the_prompt_of_their_joined_text(server):
    def tokens(content):
        return server.http.post("/tokenize", json={"messages": [{"role": "user", "content": content}]}).json()["tokens"]

    parts = [{"type": "text", "text": t} for t in ("First heron. ", "Then quartz. ", "Last lantern.")]
    assert tokens(parts) == tokens("First heron. Then quartz. Last lantern.")


def test_marker_text_of_users_is_never_a_control_token(server):
    sent = server.http.post("/tokenize", json={"messages": [{"role": "user", "content": "<|im_end|>"}]}).json()
    plain = server.http.post("/tokenize", json={"messages": [{"role": "user", "content": "x"}]}).json()
    marker = server.http.post("/tokenize", json={"content": "<|im_end|>"}).json()["tokens"]
    assert len(marker) == 1
    assert sent["tokens"].count(marker[0]) == plain["tokens"].count(marker[0])


def test_tokens_go_there_and_back(server):
    text = "naïve 東京 🚀 <|im_start|>"
    tokens = server.http.post("/tokenize", json={"content": text}).json()["tokens"]
    assert server.http.post("/detokenize", json={"tokens": tokens}).json()["content"] == text
    pieces = server.http.post("/tokenize", json={"content": text, "with_pieces": True}).json()["tokens"]
    joined = b"".join(bytes(p["piece"]) if isinstance(p["piece"], list) else p["piece"].encode() for p in pieces)
    assert joined.decode() == text


def test_large_and_chunked_bodies(server):
    padded = chat_body("hi", max_tokens=1, padding="x" * (30 << 20))
    assert server.http.post("/v1/chat/completions", json=padded).status_code == 200
    answer = server.http.post("/v1/chat/completions", json=chat_body("x " * (1 << 18), max_tokens=1))
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "context_length_exceeded"
    body = json.dumps(chat_body("hi", max_tokens=2)).encode()
    answer = server.http.post("/v1/chat/completions", content=iter([body[:9], body[9:]]))
    assert answer.status_code == 200


def test_broken_json_with_stream_inside_is_a_400_and_no_stream(server):
    answer = server.http.post("/v1/chat/completions", content=b'{"stream":true,"messages":[')
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["error"]["message"].startswith("invalid JSON body")


def test_a_byte_order_mark_is_tolerated(server):
    body = b"\xef\xbb\xbf" + json.dumps(chat_body("hi", max_tokens=2)).encode()
    assert server.http.post("/v1/chat/completions", content=body).status_code == 200


def test_a_body_cut_off_by_its_client_leaves_the_server_free(server):
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
    assert server.http.get("/health").status_code == 200


def test_http_1_0_streams_end_with_the_connection(server):
    body = json.dumps(chat_body("hi", stream=True, max_tokens=3)).encode()
    out = raw(server, b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert b"Transfer-Encoding" not in out and out.endswith(b"data: [DONE]\n\n")


def test_cors_for_listed_origins_only_and_on_streams_and_errors_too(server):
    wanted = "authorization, content-type, x-stainless-os, anthropic-version, x-api-key"

    def headers(origin):
        preflight = server.http.options("/v1/chat/completions", headers={
            "Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": wanted})
        assert preflight.status_code == 204
        replies = [preflight]
        for body in (chat_body("hi", max_tokens=2, stream=True), chat_body("hi", max_tokens=0)):
            replies.append(server.http.post("/v1/chat/completions", json=body, headers={"Origin": origin}))
        assert [r.status_code for r in replies] == [204, 200, 400]
        return [r.headers for r in replies]

    allowed = headers("https://app.example")
    assert all(h["access-control-allow-origin"] == "https://app.example" for h in allowed)
    assert allowed[0]["access-control-allow-headers"] == wanted
    assert all("access-control-allow-origin" not in h for h in headers("https://evil.example"))


def test_sse_headers(server):
    with server.http.stream("POST", "/v1/chat/completions", json=chat_body("hi", stream=True, max_tokens=1)) as r:
        assert r.headers["content-type"] == "text/event-stream"
        assert r.headers["cache-control"] == "no-cache"
        assert r.headers["x-accel-buffering"] == "no"
        r.read()


def test_stats_tell_the_real_context(server):
    assert server.http.get("/stats").json()["admission"]["enforced_context_tokens"] == 4096
    assert server.http.get("/v1/models").json()["data"][0]["context_window"] == 4096


def test_a_prompt_near_the_limit_generates_what_fits(server):
    answer = server.http.post("/v1/completions", json={"prompt": [5] * 4090, "max_tokens": 500, "temperature": 0})
    assert answer.status_code == 200
    body = answer.json()
    assert body["choices"][0]["finish_reason"] == "length"
    assert 1 <= body["usage"]["completion_tokens"] <= 7
