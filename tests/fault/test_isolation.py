"""`serve --isolate`: a worker's death costs its own requests only, and the parent is never its victim."""
import json
import os
import pathlib
import signal
import stat
import time

import pytest

import pools
import serving

WIRES = {
    "/v1/chat/completions": {},
    "/v1/completions": {"prompt": "Go on.", "messages": None},
    "/v1/messages": {},
    "/v1/responses": {"input": "Go on.", "messages": None, "max_output_tokens": 3000},
    "/api/chat": {"options": {"num_predict": 3000}},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return pools.make_models(tmp_path_factory.mktemp("pool"), ("tiny-a", "tiny-b"))


@pytest.fixture
def server(root):
    with pools.Pool(root, "--isolate") as running:
        yield running


def engine(server):
    return server.http.get("/engine").json()


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_worker(server):
    """Kills the first model's worker: what is asked until it is gone would be a request under way."""
    pid = engine(server)["pid"]
    os.kill(pid, signal.SIGKILL)
    serving.until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 10, "the worker is gone")


def test_the_answers_are_those_of_one_process(root, server):
    with serving.Server(root / "tiny-a") as plain:
        for text in ("hi", "What is the capital of France?", "東京 🚀"):
            for path, fields in WIRES.items():
                body = {**serving.chat_body(text, temperature=0, max_tokens=24), **fields, "stream": False}
                if "prompt" in body:
                    body["prompt"] = text
                if "input" in body:
                    body.update(input=text, max_output_tokens=24)
                if "options" in body:
                    body["options"] = {"num_predict": 24, "temperature": 0}
                one, other = (part_of(s.http.post(path, json=body)) for s in (plain, server))
                assert one == other, path
            streams = [serving.stream(s.http, "/v1/chat/completions",
                                      serving.chat_body(text, temperature=0, max_tokens=24)) for s in (plain, server)]
            assert streams[0][0] == streams[1][0] and streams[1][2]


def part_of(answer):
    """What does not differ from one request to the next."""
    assert answer.status_code == 200, answer.text
    body = answer.json()
    for key in ("choices", "content", "message", "response"):
        if key in body:
            return body[key]
    return [part["text"] for item in body["output"] for part in item["content"]]


def test_status_and_the_models_row_come_through(server):
    row = server.http.get("/v1/models").json()["data"][0]
    assert row["id"] == "tiny-a" and row["capabilities"]["chat_completions"]
    server.say("tiny-a")
    stats = server.http.get("/stats").json()
    assert stats["batch"]["finished_rows"] >= 1 and stats["admission"]["weights_bytes"] > 1 << 20
    assert server.metric("hearth_tokens_sampled_total") >= 1 and server.metric("hearth_rows_max") == 8
    body = engine(server)
    assert body["isolated"] is True and body["restarts"] == 0 and body["pool"]["default"] == "tiny-a"
    assert server.http.post("/admin/drain").status_code == 404
    assert server.ask("tiny-x").status_code == 404
    refused = server.http.post("/v1/chat/completions", json={"messages": 5})
    assert refused.status_code == 400 and refused.json()["error"]["param"] == "messages"


def test_the_socket_is_its_users_alone(server):
    socket = pathlib.Path(engine(server)["socket"])
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600


@pytest.mark.parametrize("path", WIRES)
def test_a_stream_whose_worker_is_killed_ends_in_one_error(server, path):
    stream = pools.Streaming(server, "tiny-a", tokens=3000, path=path, **WIRES[path])
    assert stream.began.wait(30)
    time.sleep(0.1)
    kill_worker(server)
    stream.join()
    assert stream.status == 200 and stream.error is None
    text = "\n".join(stream.lines)
    assert text.count("the process that ran the model is gone") == (2 if path == "/v1/responses" else 1)
    assert "[DONE]" not in text
    data = [line.removeprefix("data: ") for line in stream.lines if line and not line.startswith("event:")]
    last = json.loads(data[-1])
    if path == "/v1/responses":
        assert last["type"] == "response.failed" and last["response"]["status"] == "failed"
        numbers = [json.loads(line)["sequence_number"] for line in data]
        assert numbers == list(range(len(numbers)))
    else:
        assert "error" in last
    assert server.say("tiny-a")
    assert engine(server)["restarts"] == 1


def test_a_killed_worker_costs_its_own_requests_only(root):
    with pools.Pool(root, "--isolate", "--model-pool", 2) as server:
        server.say("tiny-b")
        other = pools.Streaming(server, "tiny-b", tokens=2500)
        own = [pools.Streaming(server, "tiny-a", tokens=3000) for _ in range(3)]
        assert all(stream.began.wait(30) for stream in (other, *own))
        plain = pools.at_once(lambda: server.ask("tiny-a", max_tokens=3000, temperature=1),
                              lambda: (time.sleep(0.3), kill_worker(server)))[0]
        assert plain.status_code == 502 and plain.json()["error"]["code"] == "engine_unavailable"
        assert not any(stream.join().whole for stream in own)
        assert server.say("tiny-a")
        assert other.join().whole


def is_back(process, restarts):
    return process["pid"] and process["restarts"] == restarts


def test_after_three_restarts_the_end_is_the_end_until_the_model_is_named(server):
    for restarts in (1, 2, 3):
        kill_worker(server)
        server.wait_for(lambda: is_back(engine(server), restarts), "the worker is back")
    kill_worker(server)
    server.wait_for(lambda: engine(server)["pid"] is None, "the worker is down")
    time.sleep(0.5)
    down = server.http.post("/v1/chat/completions", json=serving.chat_body("hi", max_tokens=2))
    assert down.status_code == 502 and down.json()["error"]["code"] == "engine_unavailable"
    assert server.http.get("/health").status_code == 503
    assert server.say("tiny-a")
    assert server.http.get("/health").json() == {"status": "ok", "isolated": True, "worker": "ready"}


def test_stored_responses_outlive_the_worker(server):
    first = server.http.post("/v1/responses", json={"input": "My name is Ada.", "max_output_tokens": 4}).json()
    kill_worker(server)
    body = {"input": "And mine?", "previous_response_id": first["id"], "max_output_tokens": 4}
    second = server.http.post("/v1/responses", json=body)
    assert second.status_code == 200, second.text
    assert second.json()["previous_response_id"] == first["id"]
    assert second.json()["usage"]["input_tokens"] > first["usage"]["input_tokens"]
    items = server.http.get(f"/v1/responses/{second.json()['id']}/input_items").json()["data"]
    assert len(items) == 3
    assert server.http.post("/v1/responses", json={**body, "previous_response_id": "resp_x"}).status_code == 404


def test_a_client_that_leaves_cancels_its_row(server):
    body = {**serving.chat_body("Go on.", temperature=1, max_tokens=4000), "stream": True}
    with server.http.stream("POST", "/v1/chat/completions", json=body) as response:
        next(response.iter_lines())
    server.wait_until_idle()
    server.wait_for(lambda: server.metric("hearth_rows_cancelled_total") == 1, "the row was cancelled")


def test_models_take_turns_in_workers_of_their_own(root):
    with pools.Pool(root, "--isolate", "--model-pool", 1) as server:
        first = engine(server)["pid"]
        said = server.say("tiny-b")
        assert not is_running(first) and server.resident() == {"tiny-b"}
        with serving.Server(root / "tiny-b") as plain:
            body = serving.chat_body("hi", temperature=0, max_tokens=4)
            assert plain.http.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"] == said
        assert server.say("tiny-a")


def test_workers_end_with_their_parent(root):
    for how, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -9)):
        with pools.Pool(root, "--isolate") as server:
            body = engine(server)
            assert server.stop(how) == code
            serving.until(lambda: not is_running(body["pid"]), 10, "the worker is gone")
            if how == signal.SIGTERM:
                assert not pathlib.Path(body["socket"]).parent.exists()


def test_a_model_that_cannot_be_loaded_ends_the_start_with_its_fault(root, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in (root / "tiny-a").iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with serving.Server(broken, "--isolate", ready=False) as server:
        assert server.process.wait(30) == 1
        assert "model.safetensors" in server.output()
