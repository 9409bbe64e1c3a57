"""The prompt cache through the wires: what is told, and that answers stay what they are without it."""
import concurrent.futures

import pytest

import serving
from serving import cached, text_of

LONG = "The quick brown fox jumps over the lazy dog, and counts: " + ", ".join(map(str, range(1, 130)))


@pytest.fixture(scope="module")
def cold(tiny):
    """The same model without a prompt cache."""
    with serving.Server(tiny, "--prompt-cache", 0, "--any-model") as running:
        yield running


@pytest.fixture(params=[(), ("--l1",)], ids=["fast", "l1"])
def pair(request, tiny):
    """A server with a prompt cache and one without."""
    with serving.Server(tiny, *request.param, "--any-model") as warm:
        with serving.Server(tiny, *request.param, "--prompt-cache", 0, "--any-model") as without:
            yield warm, without


def chat(server, messages, **fields):
    body = {"messages": messages, "temperature": 0, "max_tokens": 24, **fields}
    answer = server.http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def user(text):
    return {"role": "user", "content": text}


def test_a_conversation_pays_for_its_new_tokens_and_reads_the_same(server, cold):
    messages = [user(f"conversation {LONG}")]
    for turn in range(3):
        warm = chat(server, messages)
        assert text_of(warm) == text_of(chat(cold, messages))
        assert turn == 0 or cached(warm) > warm["usage"]["prompt_tokens"] - 200
        messages += [{"role": "assistant", "content": text_of(warm)}, user(f"turn {turn}, go on")]


def test_forks_share_what_came_before(pair):
    warm, cold = pair
    common = [{"role": "system", "content": f"forks {LONG * 5}"}]
    chat(warm, [*common, user("one")])
    for words in ("two", "three"):
        fork = [*common, user(words)]
        answer = chat(warm, fork)
        assert text_of(answer) == text_of(chat(cold, fork))
        assert cached(answer) >= 2048


def test_a_client_that_comes_while_another_is_read_takes_its_beginning(server, cold):
    common = f"together {LONG * 5}"
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda i: chat(server, [user(f"{common} {i}")]), range(6)))
    assert sum(cached(answer) > 1000 for answer in answers) >= 4
    for i, answer in enumerate(answers):
        assert text_of(answer) == text_of(chat(cold, [user(f"{common} {i}")]))


@pytest.mark.parametrize("path,body,told", [
    ("/v1/chat/completions", {"messages": [user(f"chat {LONG}")]},
     lambda usage: usage["prompt_tokens_details"]["cached_tokens"]),
    ("/v1/completions", {"prompt": f"completion {LONG}"},
     lambda usage: usage["prompt_tokens_details"]["cached_tokens"]),
    ("/v1/messages", {"messages": [user(f"message {LONG}")]}, lambda usage: usage["cache_read_input_tokens"]),
    ("/v1/responses", {"input": f"response {LONG}"},
     lambda usage: usage["input_tokens_details"]["cached_tokens"]),
], ids=["chat", "completions", "messages", "responses"])
def test_every_wire_tells_what_came_from_the_cache(server, path, body, told):
    limit = {"max_output_tokens": 2} if path == "/v1/responses" else {"max_tokens": 2}
    first, second = (server.http.post(path, json={**body, **limit}).json()["usage"] for _ in range(2))
    assert told(first) == 0
    assert told(second) > 300
    if path == "/v1/messages":
        assert second["input_tokens"] + told(second) == first["input_tokens"]


def test_a_billing_header_that_changes_costs_nothing(server):
    def ask(header):
        system = [{"type": "text", "text": f"x-anthropic-billing-header: {header}"},
                  {"type": "text", "text": f"billing {LONG}"}]
        body = {"system": system, "messages": [user("hi")], "max_tokens": 2}
        return server.http.post("/v1/messages", json=body).json()["usage"]

    assert ask("cc_version=1; cch=11111;")["cache_read_input_tokens"] == 0
    assert ask("cc_version=1; cch=22222;")["cache_read_input_tokens"] > 300


def test_log_probabilities_are_the_same_numbers(server, cold):
    messages = [user(f"numbers {LONG}")]
    chat(server, messages)
    warm = chat(server, messages, logprobs=True, top_logprobs=3)
    assert cached(warm) > 300
    assert warm["choices"][0]["logprobs"] == chat(cold, messages, logprobs=True, top_logprobs=3)["choices"][0]["logprobs"]


def test_stats_and_metrics_count(server):
    before = server.http.get("/stats").json()["prompt_cache"]
    for _ in range(2):
        chat(server, [user(f"counting {LONG}")])
    after = server.http.get("/stats").json()["prompt_cache"]
    assert after["hits"] == before["hits"] + 1 and after["misses"] == before["misses"] + 1
    assert after["hit_tokens"] > before["hit_tokens"] and after["entries"] > before["entries"]
    assert before["bytes"] < after["bytes"] <= after["max_bytes"]
    assert server.metric("hearth_prompt_cache_hits_total") == after["hits"]
    assert server.metric("hearth_prompt_cache_bytes") == after["bytes"]


def test_without_a_cache_nothing_is_kept(cold):
    for _ in range(2):
        assert cached(chat(cold, [user(f"nothing {LONG}")])) == 0
    assert cold.http.get("/stats").json()["prompt_cache"]["max_bytes"] == 0


def test_administration_without_files(server):
    flushed = server.http.post("/admin/cache/flush")
    assert flushed.status_code == 200 and flushed.json()["durable"] and flushed.json()["entries"] == 0
    close = "/admin/cache/session/close"
    assert server.http.post(close, json={"session_id": "a"}).json() == {"closed": True}
    assert server.http.post(close, json={"session_id": 3}).json() == {"closed": False}
    assert server.http.post(close, content=b"{").status_code == 400
    assert cached(chat(server, [user("hi")], session_id="a", prompt_cache_key="b")) == 0


def test_a_restarted_server_goes_on_from_its_files(tiny, cold, tmp_path):
    folder = tmp_path / "cache"
    messages = [user(f"restart {LONG}")]
    with serving.Server(tiny, "--ssd-cache", folder, "--any-model") as server:
        chat(server, messages)
        flushed = server.http.post("/admin/cache/flush").json()
        assert flushed["durable"] and flushed["longest_durable_prefix_tokens"] > 300
        assert server.http.get("/stats").json()["ssd_cache"]["spills"] == flushed["entries"] > 0
        assert server.stop() == 0
    with serving.Server(tiny, "--ssd-cache", folder, "--any-model") as server:
        answer = chat(server, messages)
        assert cached(answer) > 300
        assert text_of(answer) == text_of(chat(cold, messages))
        assert server.http.get("/stats").json()["ssd_cache"]["restores"] == 1
        assert server.metric("hearth_ssd_cache_restores_total") == 1
