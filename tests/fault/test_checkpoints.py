"""--generation-checkpoint: what is killed while it answers is asked the same again, and the answer is the one that
nobody interrupted; what was said before is said again without being generated."""
import concurrent.futures
import contextlib
import os
import signal

import httpx
import pytest

import pools
import serving

EVERY = 16
SAMPLING = {"temperature": 1.0, "seed": 5}
LETTERS = "[a-z]{900}"
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "minLength": 900}}, "required": ["city"]}}}

# path, body: every wire, several choices, a grammar, a forced call
ASKED = {
    "chat": ("/v1/chat/completions", serving.chat_body("one", max_tokens=160, **SAMPLING)),
    "unstreamed": ("/v1/chat/completions", serving.chat_body("two", max_tokens=161, stream=False, **SAMPLING)),
    "choices": ("/v1/chat/completions", serving.chat_body("three", max_tokens=150, n=2, **SAMPLING)),
    "stop": ("/v1/chat/completions", serving.chat_body("four", max_tokens=160, stop=["no such text"], **SAMPLING)),
    "grammar": ("/v1/chat/completions", serving.chat_body("five", max_tokens=160, guided_regex=LETTERS, **SAMPLING)),
    "call": ("/v1/chat/completions", serving.chat_body("six", max_tokens=160, tools=[WEATHER], tool_choice="required",
                                                       **SAMPLING)),
    "completions": ("/v1/completions", {"prompt": "seven", "max_tokens": 160, **SAMPLING}),
    "messages": ("/v1/messages", serving.chat_body("eight", max_tokens=160, **SAMPLING)),
    "responses": ("/v1/responses", {"input": "nine", "max_output_tokens": 160, **SAMPLING}),
    "ollama": ("/api/chat", serving.chat_body("ten", options={"num_predict": 160, **SAMPLING})),
}
ROWS = len(ASKED) + 1  # choices has two


def said(answer):
    """What of an answer does not differ from one request to the next."""
    assert answer.status_code == 200, answer.text
    body = answer.json()
    if "choices" in body:
        for choice in body["choices"]:
            for call in choice.get("message", {}).get("tool_calls") or []:
                del call["id"]
        return body["choices"], body["usage"]["completion_tokens"]
    for key in ("content", "message"):
        if key in body:
            return body[key]
    return [part["text"] for item in body["output"] for part in item["content"]], body["usage"]["output_tokens"]


def whole(server, name):
    path, body = ASKED[name]
    return said(server.http.post(path, json={**body, "stream": False}))


def read_until_killed(server, name):
    path, body = ASKED[name]
    with contextlib.suppress(httpx.HTTPError):
        with server.http.stream("POST", path, json={"stream": True, **body}) as response:
            return [line for line in response.iter_lines()]


def checkpoints(folder):
    return [path for path in (folder / "checkpoints").glob("*.gen") if path.stat().st_size > 48 + 4 * EVERY]


def told(server):
    return server.http.get("/stats").json()["checkpoints"]


@contextlib.contextmanager
def keeping(model, folder, *flags):
    flags = ("--batch", 16, "--ssd-cache", folder, "--generation-checkpoint", EVERY, *flags)
    with serving.Server(model, *flags) as server:
        yield server


@pytest.fixture(scope="module")
def right(tiny):
    """The answers that nobody interrupted."""
    with serving.Server(tiny, "--batch", 16) as server:
        return {name: whole(server, name) for name in ASKED}


def test_after_a_kill_the_same_requests_get_the_whole_answers(tiny, right, tmp_path):
    with keeping(tiny, tmp_path) as server, concurrent.futures.ThreadPoolExecutor(len(ASKED)) as pool:
        reading = [pool.submit(read_until_killed, server, name) for name in ASKED]
        serving.until(lambda: len(checkpoints(tmp_path)) == ROWS, 60, "a checkpoint of every row")
        server.process.send_signal(signal.SIGKILL)
        concurrent.futures.wait(reading, 60)
    with keeping(tiny, tmp_path) as server:
        for name in ASKED:
            assert whole(server, name) == right[name], name
        stats = told(server)
        assert stats["resumed"] == ROWS
        assert stats["replayed_tokens"] >= 2 * EVERY * ROWS
        sampled = server.metric("hearth_tokens_sampled_total")
        assert sampled + stats["replayed_tokens"] >= 160
        serving.until(lambda: not list((tmp_path / "checkpoints").iterdir()), 10, "complete answers leave nothing")
        first = whole(server, "chat")
        assert first == right["chat"] and told(server)["resumed"] == ROWS  # complete: from its beginning


def test_what_was_said_costs_no_steps_and_is_streamed_at_once(tiny, tmp_path):
    body = serving.chat_body("slowly", max_tokens=300, **SAMPLING)
    with keeping(tiny, tmp_path) as server:
        want, _, done = serving.stream(server.http, "/v1/chat/completions", body)
        assert done
        steps = server.metric("hearth_engine_steps_total")
        with server.http.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as response:
            lines = response.iter_lines()
            serving.until(lambda: next(lines) and checkpoints(tmp_path), 60, "a checkpoint")
            server.process.send_signal(signal.SIGKILL)
    with keeping(tiny, tmp_path) as server:
        texts, _, done = serving.stream(server.http, "/v1/chat/completions", body)
        assert (texts, done) == (want, True)
        replayed = told(server)["replayed_tokens"]
        assert replayed >= 2 * EVERY
        assert server.metric("hearth_tokens_sampled_total") == 300 - replayed
        assert server.metric("hearth_engine_steps_total") <= steps - replayed + 2


@pytest.mark.parametrize("flags", [("--l1",), ("--isolate",)])
def test_in_other_tiers_and_processes(tiny, tmp_path, flags):
    body = serving.chat_body("hello", max_tokens=120, **SAMPLING)
    with keeping(tiny, tmp_path, *flags) as server:
        want = said(server.http.post("/v1/chat/completions", json=body))
        isolated = flags == ("--isolate",)
        pid = server.http.get("/engine").json()["pid"] if isolated else server.process.pid
        with contextlib.suppress(httpx.HTTPError):
            with server.http.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as response:
                killed = False
                for _ in response.iter_lines():
                    if not killed and checkpoints(tmp_path):
                        os.kill(pid, signal.SIGKILL)
                        killed = True
        if isolated:
            serving.until(lambda: server.http.get("/engine").json()["restarts"] == 1, 30, "a new worker")
            assert said(server.http.post("/v1/chat/completions", json=body)) == want
            assert told(server)["resumed"] == 1
            return
    with keeping(tiny, tmp_path, *flags) as server:
        assert said(server.http.post("/v1/chat/completions", json=body)) == want
        assert told(server)["resumed"] == 1


def test_models_of_a_pool_keep_theirs_apart(tmp_path):
    root = pools.make_models(tmp_path / "models", ("tiny-a", "tiny-b"))
    flags = ("--model-pool", 2, "--ssd-cache", tmp_path / "cache", "--generation-checkpoint", EVERY)
    asked = {name: serving.chat_body("Go on.", model=name, max_tokens=300, **SAMPLING) for name in ("tiny-a", "tiny-b")}
    with pools.Pool(root, *flags) as server:
        want = {name: said(server.http.post("/v1/chat/completions", json=body)) for name, body in asked.items()}
        assert want["tiny-a"] != want["tiny-b"]
        streams = [pools.Streaming(server, name, tokens=300, **SAMPLING) for name in asked]
        serving.until(lambda: len(checkpoints(tmp_path / "cache")) == 2, 60, "a checkpoint of each model")
        server.process.send_signal(signal.SIGKILL)
        for stream in streams:
            stream.join()
    with pools.Pool(root, *flags) as server:
        for name, body in asked.items():
            assert said(server.http.post("/v1/chat/completions", json=body)) == want[name]
        assert told(server)["resumed"] == 2


def test_a_folder_that_cannot_be_used_fails_no_request(tiny, right, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with keeping(tiny, tmp_path / "file" / "cache") as server:
        assert whole(server, "chat") == right["chat"]
        assert told(server)["failed"] > 0 and told(server)["written"] == 0


def test_a_full_disk_fails_no_request(tiny, tmp_path, monkeypatch):
    body = serving.chat_body("long", max_tokens=320, **SAMPLING)
    with serving.Server(tiny) as server:
        want = said(server.http.post("/v1/chat/completions", json=body))
    launcher = tmp_path / "limited"  # no file grows beyond 1 KiB, which 244 tokens fill
    launcher.write_text(f"#!/bin/bash\ntrap '' XFSZ\nulimit -f 1\nexec {serving.binary()} \"$@\"\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("HEARTH_BINARY", str(launcher))
    with keeping(tiny, tmp_path / "cache") as server:
        assert said(server.http.post("/v1/chat/completions", json=body)) == want
        assert told(server)["failed"] > 0
