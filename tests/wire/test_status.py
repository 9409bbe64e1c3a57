"""What the server tells about itself: times of each answer, /stats, /metrics, the log."""
import json
import threading

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

import serving
from scripted_serving import Scripted, call, turn
from serving import chat_body, stream

TIMES = ["queue_ms", "ttft_ms", "prefill_tps", "decode_tps"]
SECRET = "sk-never-to-be-told"
PLAIN = [("/v1/chat/completions", chat_body("hi", max_tokens=4)),
         ("/v1/completions", {"prompt": "hi", "max_tokens": 4}),
         ("/v1/messages", chat_body("hi", max_tokens=4)),
         ("/v1/responses", {"input": "hi", "max_output_tokens": 4})]
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def families(server):
    """Name to family, as Prometheus reads them."""
    told = list(text_string_to_metric_families(server.http.get("/metrics").text))
    assert len({f.name for f in told}) == len(told), "a family comes twice"
    return {f.name: f for f in told}


def sample(server, name, **labels):
    """The one sample of that name and these labels; 0 when it is not told."""
    found = [s.value for f in families(server).values() for s in f.samples if s.name == name and s.labels == labels]
    assert len(found) <= 1, found
    return found[0] if found else 0


def check_times(times):
    assert list(times) == TIMES
    assert times["queue_ms"] >= 0 and times["ttft_ms"] > times["queue_ms"]
    assert times["prefill_tps"] > 0 and times["decode_tps"] > 0


@pytest.mark.parametrize("path,body", PLAIN, ids=[path for path, _ in PLAIN])
def test_a_plain_answer_tells_its_times_twice(server, path, body):
    answer = server.http.post(path, json=body)
    check_times(answer.json()["hearth"])
    assert json.loads(answer.headers["x-hearth-timings"]) == answer.json()["hearth"]


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_ollamas_answers_tell_them_in_the_header(server, path):
    body = {"prompt": "hi"} if path.endswith("generate") else {"messages": [{"role": "user", "content": "hi"}]}
    answer = server.http.post(path, json={**body, "stream": False, "options": {"num_predict": 3}})
    check_times(json.loads(answer.headers["x-hearth-timings"]))
    assert "hearth" not in answer.json()


@pytest.mark.parametrize("path,body", PLAIN[:2], ids=["chat", "completions"])
@pytest.mark.parametrize("usage", [True, False])
@pytest.mark.parametrize("n", [1, 3])
def test_the_last_chunk_of_a_stream_tells_its_times(server, path, body, usage, n):
    _, chunks, done = stream(server.http, path, {**body, "n": n, "stream_options": {"include_usage": usage}})
    assert done and [i for i, c in enumerate(chunks) if "hearth" in c] == [len(chunks) - 1]
    check_times(chunks[-1]["hearth"])
    assert ("usage" in chunks[-1]) == usage and (chunks[-1]["choices"] == []) == usage


def test_the_last_events_of_other_wires_tell_their_times(server):
    with server.http.stream("POST", "/v1/messages", json={**PLAIN[2][1], "stream": True}) as response:
        events, _ = serving.frames(response)
    check_times([e for e in events if e["type"] == "message_delta"][0]["hearth"])
    with server.http.stream("POST", "/v1/responses", json={**PLAIN[3][1], "stream": True}) as response:
        events, _ = serving.frames(response)
    assert events[-1]["type"] == "response.incomplete"
    check_times(events[-1]["response"]["hearth"])


def test_the_time_in_the_queue_is_the_time_before_the_engine_began(tiny):
    with serving.Server(tiny, "--batch", 1) as server:
        body = chat_body("hi", max_tokens=60)
        times = []

        def ask():
            with httpx.Client(base_url=server.url, timeout=300) as client:
                times.append(client.post("/v1/chat/completions", json=body).json()["hearth"])

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first, second, third = sorted(times, key=lambda t: t["queue_ms"])
        decoding = 1000 * 59 / first["decode_tps"]
        assert second["queue_ms"] > decoding / 2 and third["queue_ms"] > second["queue_ms"] + decoding / 2
        assert all(t["ttft_ms"] > t["queue_ms"] for t in times)
        assert server.http.get("/stats").json()["batch"]["mode"] == "off"
        assert server.http.get("/v1/models").json()["data"][0]["batch_mode"] == "off"
        assert sample(server, "hearth_queue_seconds_count") == 3


def test_metrics_count_requests_answers_and_tokens(server):
    chat = dict(route="/v1/chat/completions", status="200")
    before = {name: sample(server, name) for name in ("hearth_prompt_tokens_total", "hearth_completion_tokens_total")}
    requests, cut = sample(server, "hearth_requests_total", **chat), sample(server, "hearth_answers_total", outcome="length")
    usage = server.http.post("/v1/chat/completions", json=chat_body("hi", max_tokens=5, n=2)).json()["usage"]
    assert server.http.post("/v1/chat/completions", json={}).status_code == 400
    assert sample(server, "hearth_requests_total", **chat) == requests + 1
    assert sample(server, "hearth_requests_total", **{**chat, "status": "400"}) >= 1
    assert sample(server, "hearth_answers_total", outcome="length") == cut + 1
    completion = sample(server, "hearth_completion_tokens_total") - before["hearth_completion_tokens_total"]
    assert completion == usage["completion_tokens"] == 10
    assert sample(server, "hearth_prompt_tokens_total") - before["hearth_prompt_tokens_total"] == 2 * usage["prompt_tokens"]


def test_metrics_are_whole_and_their_histograms_add_up(server):
    server.http.post("/v1/chat/completions", json=chat_body("hi", max_tokens=5))
    told = families(server)
    info = told["hearth_info"].samples[0].labels
    assert info["model"] == server.model and info["version"] == server.http.get("/v1").json()["version"]
    histograms = [f for f in told.values() if f.type == "histogram"]
    assert {f.name for f in histograms} == {"hearth_request_seconds", "hearth_queue_seconds", "hearth_prefill_seconds",
                                            "hearth_time_to_first_token_seconds", "hearth_inter_token_seconds"}
    for family in histograms:
        buckets = [s for s in family.samples if s.name.endswith("_bucket")]
        count = [s.value for s in family.samples if s.name.endswith("_count")][0]
        values = [s.value for s in buckets]
        assert values == sorted(values) and buckets[-1].labels["le"] == "+Inf" and values[-1] == count > 0
    for name in ["hearth_rows_active", "hearth_rows_waiting", "hearth_rows_max", "hearth_kv_bytes",
                 "hearth_memory_active_bytes", "hearth_weights_bytes", "hearth_connections", "hearth_responses_stored"]:
        assert told[name].type == "gauge" and told[name].documentation and told[name].samples[0].value >= 0, name
    assert told["hearth_rows_max"].samples[0].value == 16


def test_a_client_that_leaves_is_a_cancelled_answer(server):
    before = sample(server, "hearth_answers_total", outcome="cancelled")
    counted, sampled = (sample(server, f"hearth_{name}_total") for name in ("completion_tokens", "tokens_sampled"))
    with server.http.stream("POST", "/v1/chat/completions", json=chat_body("hi", stream=True)) as response:
        # The first frame, with the role, comes before any token.
        next(line for line in response.iter_lines() if '"content":"' in line and '"content":""' not in line)
    serving.until(lambda: sample(server, "hearth_answers_total", outcome="cancelled") == before + 1, 10, "counted")
    assert sample(server, "hearth_completion_tokens_total") == counted
    assert sample(server, "hearth_tokens_sampled_total") > sampled, "the engine counts what it gave up"


def test_a_request_that_cannot_be_read_is_counted(server):
    before = sample(server, "hearth_requests_total", route="unmatched", status="431")
    answer = server.http.get("/v1/models", headers={"X-Large": "x" * 70_000})
    assert answer.status_code == 431
    assert sample(server, "hearth_requests_total", route="unmatched", status="431") == before + 1


def test_tool_calls_are_counted_those_that_could_not_be_read_too():
    broken = "<tool_call>\n{\"name\": \"look\", \"arguments\": {{{\n</tool_call>"
    with Scripted([turn(call("look", q=1), when="whole"), turn(broken, when="broken")]) as server:
        for word in ("whole", "broken"):
            body = chat_body(word, tools=[LOOK])
            assert server.http.post("/v1/chat/completions", json=body).status_code == 200
        assert sample(server, "hearth_tool_calls_total") == 1
        assert sample(server, "hearth_tool_calls_broken_total") == 1


def test_stats_have_every_block(server):
    stats = server.http.get("/stats").json()
    assert set(stats) == {"server", "batch", "prompt_cache", "pool", "response_store", "kv_quant", "admission",
                          "backend"}
    assert set(stats["prompt_cache"]) == {"entries", "bytes", "max_bytes", "hits", "misses", "hit_tokens", "evicted"}
    store = stats["response_store"]
    assert store["max_bytes"] == 33554432 and store["ttl_ms"] == 3600000
    kv = stats["kv_quant"]
    assert kv["mode"] == "bf16" and kv["layers"]["bf16"] == sum(kv["attention"].values()) > 0
    batch = stats["batch"]
    assert batch["configured"] == 16 and batch["mode"] == "batch" and batch["batched"] is True
    admission, backend = stats["admission"], stats["backend"]
    assert 0 < admission["max_safe_context"] <= admission["enforced_context_tokens"] == 4096
    assert admission["usable_bytes"] == backend["memory_total_bytes"] * 3 // 4
    assert admission["weights_bytes"] > 0 and admission["memory_budget_bytes"] is None


def test_the_model_says_whether_it_can_be_held_to_a_schema(server, tiny):
    def told(running):
        row = running.http.get("/v1/models").json()["data"][0]
        return row["structured_output"], row["capabilities"]["structured_output"]

    assert told(server) == (True, True)
    with serving.Server(tiny, env={"HEARTH_GRAMMAR": "0"}) as free:
        assert told(free) == (False, False)


def requests_in(server):
    """The log's lines of requests; the last one may be half written."""
    whole = [line for line in server.output().split("\n")[:-1] if line.startswith("{")]
    lines = [json.loads(line) for line in whole]
    return [line for line in lines if line["message"] == "request" and line["path"] != "/health"]


def test_a_line_of_the_log_for_every_request_and_no_secrets(tiny):
    flags = ["--log-format", "json", "--log-level", "info", "--api-key", SECRET]
    with serving.Server(tiny, *flags, ready=False) as server:
        server.wait_for_health()
        headers = {"Authorization": f"Bearer {SECRET}"}
        body = chat_body(f"my password is {SECRET}", max_tokens=3)
        answer = server.http.post(f"/v1/chat/completions?key={SECRET}", json=body, headers=headers)
        stream(httpx.Client(base_url=server.url, headers=headers, timeout=300), "/v1/chat/completions", body)
        server.http.post("/v1/chat/completions", json=body, headers={"x-api-key": SECRET + "x"})
        server.http.get("/nowhere%0Aat\"all")
        left = httpx.Client(base_url=server.url, headers=headers, timeout=300)
        with left.stream("POST", "/v1/chat/completions", json=chat_body("hi", stream=True)) as response:
            next(response.iter_lines())
        left.close()
        serving.until(lambda: len(requests_in(server)) == 5, 10, "a line for each request")
        requests = requests_in(server)
        assert SECRET not in server.output()
    # A line is written when its request is over, which the client may know a little earlier.
    (plain,) = [line for line in requests if line["request_id"] == answer.headers["x-request-id"]]
    (gone,) = [line for line in requests if line.get("outcome") == "cancelled"]
    (refused,), (unknown,) = ([line for line in requests if line["status"] == status] for status in (401, 404))
    (streamed,) = [line for line in requests if line not in (plain, gone, refused, unknown)]
    assert gone["prompt_tokens"] > 0 and "completion_tokens" not in gone
    for line in plain, streamed:
        assert line["route"] == line["path"] == "/v1/chat/completions" and line["status"] == 200
        assert line["outcome"] == "length" and line["completion_tokens"] == 3
        assert line["prompt_tokens"] == answer.json()["usage"]["prompt_tokens"]
        assert line["seconds"] * 1000 >= line["ttft_ms"] > line["queue_ms"]
    assert {name: plain[name] for name in TIMES} == answer.json()["hearth"]
    assert "outcome" not in refused and unknown["route"] == "unmatched"
