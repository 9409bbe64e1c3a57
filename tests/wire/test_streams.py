"""Streams against plain answers and against themselves when they run alone."""
import concurrent.futures
import random

import pytest
from serving import chat_body, stream

OPENINGS = ["Write a line about", "Translate into Japanese:", "List emoji for", "Tell a joke about",
            "Spell backwards:", "Explain in Russian:", "Count upward from", "Write code that prints"]
THINGS = ["naïve cafés", "東京の天気", "rockets 🚀", "шахматы", "seventeen", "a 👩🏽‍🚀", "rivers", "tab\tand space",
          "ภาษาไทย", "JSON"]


def prompts(count):
    rng = random.Random(11)
    return [f"{rng.choice(OPENINGS)} {rng.choice(THINGS)} {rng.choice(THINGS)} {i}" for i in range(count)]


@pytest.mark.parametrize("which, count", [("server", 300), ("real_server", 60)])
def test_streamed_text_is_the_plain_text_for_random_prompts(which, count, request):
    """At temperature 1 with seeds; a U+FFFD only where the tokens' own bytes are not UTF-8.

    The random model's tokens break characters most; the real one's prompts are dear."""
    http = request.getfixturevalue(which).http

    def both(numbered):
        seed, prompt = numbered
        body = chat_body(prompt, temperature=1, seed=seed, max_tokens=8)
        plain = http.post("/v1/chat/completions", json=body).json()
        texts, chunks, done = stream(http, "/v1/chat/completions", {**body, "logprobs": True})
        assert done
        assert texts[0] == plain["choices"][0]["message"]["content"], f"seed {seed}: {prompt}"
        tokens = b"".join(bytes(entry["bytes"]) for chunk in chunks for choice in chunk["choices"]
                          if choice["logprobs"] for entry in choice["logprobs"]["content"])
        assert texts[0].count("\ufffd") == tokens.decode(errors="replace").count("\ufffd"), f"seed {seed}: {tokens}"
        return len(texts[0])

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        lengths = list(pool.map(both, enumerate(prompts(count))))
    assert sum(lengths) > count * 5


def test_16_concurrent_streams_get_at_l1_what_they_get_alone(l1_server):
    bodies = [chat_body(prompt, temperature=1, seed=i, max_tokens=16, logprobs=True)
              for i, prompt in enumerate(prompts(16))]

    def tokens(body):
        _, chunks, done = stream(l1_server.http, "/v1/chat/completions", body)
        assert done
        return [(e["id"], e["logprob"]) for c in chunks for choice in c["choices"] if choice["logprobs"]
                for e in choice["logprobs"]["content"]]

    alone = [tokens(body) for body in bodies]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        together = list(pool.map(tokens, bodies))
    assert all(len(t) == 16 for t in alone)
    assert together == alone


def test_an_emoji_line_is_the_same_in_nine_streams(real_server):
    body = chat_body("Write this line back unchanged and add nothing: 👩🏽‍🚀 naïve 東京 שלום 🏳️‍🌈 end",
                     temperature=0, max_tokens=40)
    plain = real_server.http.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: stream(real_server.http, "/v1/chat/completions", body), range(8)))
    for texts, chunks, done in runs:
        assert done and texts[0] == plain
        assert not any("\ufffd" in (c["choices"][0]["delta"].get("content") or "") for c in chunks[:-2])


def test_nothing_leaks_from_one_request_to_the_next(server):
    greedy = chat_body("Name two rivers.", temperature=0, max_tokens=12, repetition_penalty=1.3)
    first = server.http.post("/v1/chat/completions", json=greedy).json()["choices"]
    server.http.post("/v1/chat/completions", json=chat_body(
        "Name two rivers.", temperature=1, max_tokens=12, presence_penalty=2, frequency_penalty=2,
        logit_bias={"100": 50}))
    assert server.http.post("/v1/chat/completions", json=greedy).json()["choices"] == first


def test_choices_of_one_stream_are_the_choices_of_one_body(server):
    body = chat_body("Say something.", n=4, seed=3, temperature=1, max_tokens=10)
    texts, _, done = stream(server.http, "/v1/chat/completions", body)
    plain = server.http.post("/v1/chat/completions", json=body).json()
    assert done
    assert texts == {c["index"]: c["message"]["content"] for c in plain["choices"]}
