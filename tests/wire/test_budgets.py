"""Requests are held to --memory-budget and --kv-budget before anything is computed for them."""

import concurrent.futures
import json
import re

import serving

STEP = 512 * 550_000  # what a step of the fast tier is reckoned with


def token_bytes(tiny):
    """Of keys and values, in 16 bits."""
    config = json.loads((tiny / "config.json").read_text())
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    return config["num_hidden_layers"] * 2 * config.get("num_key_value_heads", heads) * head_dim * 2


def ask(server, text="hello", **fields):
    body = {"messages": [{"role": "user", "content": text}], "temperature": 0, **fields}
    return server.http.post("/v1/chat/completions", json=body)


def test_a_row_that_can_never_fit_is_refused_and_others_take_turns(tiny):
    budget = 600 * token_bytes(tiny)
    with serving.Server(tiny, "--kv-budget", budget / 1e9, "--any-model") as server:
        for fields in ({"max_tokens": 3000}, {}):
            refused = ask(server, **fields)
            assert refused.status_code == 400
            error = refused.json()["error"]
            assert error["param"] == "max_tokens" and "max_tokens" in error["message"]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: ask(server, max_tokens=300, ignore_eos=True), range(4)))
        assert [answer.status_code for answer in answers] == [200] * 4
        batch = server.http.get("/stats").json()["batch"]
        assert abs(batch["kv_budget_bytes"] - budget) < 100
        assert batch["kv_projected_bytes"] == 0


def test_the_memory_budget_bounds_the_context(tiny, server):
    weights = server.http.get("/stats").json()["admission"]["weights_bytes"]
    budget = weights + STEP + 700 * token_bytes(tiny)
    with serving.Server(tiny, "--memory-budget", budget / 1e9, "--any-model") as small:
        admission = small.http.get("/stats").json()["admission"]
        assert 695 <= admission["enforced_context_tokens"] <= 701
        assert abs(admission["memory_budget_bytes"] - budget) < 100
        refused = ask(small, "hello " * 1200)
        assert refused.status_code == 400
        error = refused.json()["error"]
        assert error["code"] == "context_over_budget" and "--memory-budget" in error["message"]
        answer = ask(small, max_tokens=3000)
        assert answer.status_code == 200
        assert answer.json()["usage"]["total_tokens"] <= admission["enforced_context_tokens"]


def test_a_prompt_of_megabytes_is_refused_before_it_is_tokenised(server):
    words = "The quick brown fox. " * 500_000  # 10 MB, which take 20 s to tokenise
    for path, body in {"/v1/chat/completions": {"messages": [{"role": "user", "content": words}]},
                       "/v1/completions": {"prompt": words},
                       "/v1/messages": {"max_tokens": 5, "messages": [{"role": "user", "content": words}]},
                       "/v1/responses": {"input": words}}.items():
        answer = server.http.post(path, json=body)
        assert answer.status_code == 400
        message = answer.json()["error"]["message"]
        found = re.search(r"prompt is too long: (\d+) tokens > 4095 maximum \(at least", message)
        assert 4095 < int(found[1]) < 2_500_001, path  # a bound, not a count: it was not tokenised
    assert ask(server, max_tokens=2).status_code == 200
