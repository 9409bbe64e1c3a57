"""The official client, unmodified, against the program."""
import math

import openai
import pytest


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="any", max_retries=0) as made:
        yield made


QUESTION = [{"role": "user", "content": "Say something."}]


def test_a_real_model_knows_the_capital_of_france(real_server):
    with openai.OpenAI(base_url=real_server.url + "/v1", api_key="any", max_retries=0) as client:
        answer = client.chat.completions.create(
            model="any", temperature=0, max_tokens=32,
            messages=[{"role": "user", "content": "What is the capital of France?"}])
    assert "Paris" in answer.choices[0].message.content
    assert answer.model == real_server.model
    assert answer.choices[0].finish_reason in ("stop", "length")


def test_a_stream_ends_in_a_finish_reason_and_joins_to_the_plain_answer(client):
    plain = client.chat.completions.create(model="any", messages=QUESTION, max_tokens=20, seed=5, temperature=1)
    chunks = list(client.chat.completions.create(
        model="any", messages=QUESTION, max_tokens=20, seed=5, temperature=1, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == plain.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == plain.choices[0].finish_reason == "length"
    assert plain.usage.completion_tokens == 20
    assert plain.usage.total_tokens == plain.usage.prompt_tokens + 20
    assert plain.usage.prompt_tokens_details.cached_tokens >= 0
    assert plain.system_fingerprint.startswith("fp_")


@pytest.mark.parametrize("path", ["chat", "completions"])
def test_usage_comes_once_when_asked_for_and_never_when_refused(client, path):
    def chunks(**options):
        fields = {"model": "any", "max_tokens": 6, "stream": True, "temperature": 0, **options}
        if path == "chat":
            return list(client.chat.completions.create(messages=QUESTION, **fields))
        return list(client.completions.create(prompt="Two rivers:", **fields))

    asked = chunks(stream_options={"include_usage": True})
    assert asked[-1].choices == [] and asked[-1].usage.completion_tokens == 6
    assert all(c.usage is None and c.choices for c in asked[:-1])
    refused = chunks(stream_options={"include_usage": False})
    assert all(c.usage is None and c.choices for c in refused)
    assert all(c.usage is None and c.choices for c in chunks())


@pytest.mark.parametrize("limits", [(5, 9), (9, 5)])
def test_of_both_limits_the_smaller_holds(client, limits):
    answer = client.chat.completions.create(
        model="any", messages=QUESTION, max_completion_tokens=limits[0], max_tokens=limits[1])
    assert answer.usage.completion_tokens == 5
    assert answer.choices[0].finish_reason == "length"


@pytest.mark.parametrize("path,prompt", [("/v1/completions", {"prompt": [5] * 3300}),
                                         ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x " * 1600}]})])
def test_without_a_limit_the_context_is_filled(server, path, prompt):
    ends = {str(token): -1000 for text in ("<|im_end|>", "<|endoftext|>", "<|im_start|>")
            for token in server.http.post("/tokenize", json={"content": text}).json()["tokens"]}
    body = server.http.post(path, json={**prompt, "temperature": 0, "logit_bias": ends}).json()
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"]["completion_tokens"] > 512 and 4090 <= body["usage"]["total_tokens"] <= 4097


def test_n_choices_differ_and_repeat_with_the_seed(client):
    def ask(**fields):
        answer = client.chat.completions.create(
            model="any", messages=QUESTION, n=3, max_tokens=8, temperature=1, **fields)
        assert [c.index for c in answer.choices] == [0, 1, 2]
        return [c.message.content for c in answer.choices]

    first = ask(seed=7)
    assert len(set(first)) == 3
    assert ask(seed=7) == first
    alone = client.chat.completions.create(
        model="any", messages=QUESTION, max_tokens=8, temperature=1, seed=8)
    assert alone.choices[0].message.content == first[1], "choice i has seed + i"
    assert ask() != ask(), "without a seed every request is fresh"


def test_logprobs_plain_and_streamed(client):
    asked = {"model": "any", "messages": QUESTION, "max_tokens": 12, "temperature": 0, "logprobs": True,
             "top_logprobs": 3}
    plain = client.chat.completions.create(**asked)
    entries = plain.choices[0].logprobs.content
    assert len(entries) == 12
    for entry in entries:
        assert len(entry.top_logprobs) == 3
        assert entry.top_logprobs[0].token == entry.token, "greedy takes the likeliest"
        ranked = [t.logprob for t in entry.top_logprobs]
        assert ranked == sorted(ranked, reverse=True)
        assert -40 < entry.logprob <= 0 and math.isfinite(entry.logprob)
    whole = b"".join(bytes(e.bytes) for e in entries)
    text = plain.choices[0].message.content
    assert whole.decode(errors="replace").strip("\ufffd") == text.strip("\ufffd")
    streamed = []
    for chunk in client.chat.completions.create(**asked, stream=True):
        logprobs = chunk.choices[0].logprobs
        streamed += logprobs.content if logprobs else []
    assert [e.model_dump() for e in streamed] == [e.model_dump() for e in entries]


def test_logprobs_of_several_choices(client):
    answer = client.chat.completions.create(
        model="any", messages=QUESTION, max_tokens=6, temperature=1, seed=2, n=2, logprobs=True, top_logprobs=2)
    for choice in answer.choices:
        entries = choice.logprobs.content
        assert len(entries) == 6 and all(len(entry.top_logprobs) == 2 for entry in entries)
        whole = b"".join(bytes(entry.bytes) for entry in entries).decode(errors="replace")
        assert whole.strip("\ufffd") == choice.message.content.strip("\ufffd")


def test_text_completions_take_strings_tokens_and_lists_of_them(client, server):
    tokens = server.http.post("/tokenize", json={"content": "Once upon a time"}).json()["tokens"]
    fields = {"model": "any", "max_tokens": 6, "temperature": 0}
    by_text = client.completions.create(prompt="Once upon a time", **fields).choices[0].text
    by_tokens = client.completions.create(prompt=tokens, **fields).choices[0].text
    assert by_text == by_tokens
    many = client.completions.create(prompt=["Once upon a time", "Two rivers:"], **fields)
    assert [c.index for c in many.choices] == [0, 1]
    assert many.choices[0].text == by_text
    lists = client.completions.create(prompt=[tokens, tokens], **fields)
    assert [c.text for c in lists.choices] == [by_text, by_text]
    echoed = client.completions.create(prompt="Once upon a time", echo=True, **fields)
    assert echoed.choices[0].text == "Once upon a time" + by_text


def test_the_older_logprobs_block(client):
    answer = client.completions.create(model="any", prompt="Two rivers:", max_tokens=5, temperature=0, logprobs=2)
    block = answer.choices[0].logprobs
    assert len(block.tokens) == len(block.token_logprobs) == len(block.text_offset) == 5
    assert all(len(top) == 2 for top in block.top_logprobs)
    assert block.text_offset[0] == 0 and block.text_offset == sorted(block.text_offset)


@pytest.mark.parametrize("shape", [2, True])
def test_an_echo_tells_the_log_probabilities_of_the_prompt(client, server, shape):
    """What is told of a text as a prompt is what was told as it was generated."""
    prompt = server.http.post("/tokenize", json={"content": "Once upon a time, in a wood"}).json()["tokens"]
    fields = {"model": "any", "temperature": 0, "logprobs": 2}
    made = client.completions.create(prompt=prompt, max_tokens=8, **fields).choices[0]
    text = "".join(made.logprobs.tokens)
    whole = prompt + server.http.post("/tokenize", json={"content": text, "add_special": False}).json()["tokens"]
    if shape is True:
        return check_entries(client, whole)
    echoed = client.completions.create(prompt=whole, max_tokens=1, echo=True, **fields).choices[0]
    block = echoed.logprobs
    assert len(block.tokens) == len(whole) + 1 and echoed.text == "".join(block.tokens)
    assert block.token_logprobs[0] is None and block.top_logprobs[0] is None
    assert all(value <= 0 for value in block.token_logprobs[1:])
    for at, (token, value) in enumerate(zip(made.logprobs.tokens, made.logprobs.token_logprobs), len(prompt)):
        assert block.tokens[at] == token and block.token_logprobs[at] == pytest.approx(value, abs=2e-2)
        assert max(block.top_logprobs[at], key=block.top_logprobs[at].get) == token
    streamed = client.completions.create(prompt=whole, max_tokens=1, echo=True, stream=True, **fields)
    chunks = [c.choices[0] for c in streamed]
    assert "".join(c.text for c in chunks) == echoed.text
    assert [v for c in chunks if c.logprobs for v in c.logprobs.token_logprobs] == block.token_logprobs


def check_entries(client, prompt):
    """In the shape of chats, and for each of several choices."""
    answer = client.completions.create(model="any", prompt=prompt, max_tokens=1, echo=True, n=2, logprobs=True)
    for choice in answer.choices:
        entries = choice.logprobs.content
        assert [e["id"] for e in entries[:-1]] == prompt
        assert entries[0]["logprob"] is None and all(e["logprob"] <= 0 for e in entries[1:])


def test_a_stop_string_and_all_after_it_are_dropped(client):
    full = client.chat.completions.create(
        model="any", messages=QUESTION, max_tokens=24, temperature=0).choices[0].message.content
    stop = full[len(full) // 2:][:3]
    cut = full[:full.index(stop)]
    plain = client.chat.completions.create(
        model="any", messages=QUESTION, max_tokens=24, temperature=0, stop=[stop])
    assert plain.choices[0].message.content == cut
    assert plain.choices[0].finish_reason == "stop"
    chunks = client.chat.completions.create(
        model="any", messages=QUESTION, max_tokens=24, temperature=0, stop=stop, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == cut


def test_models_are_listed_and_retrieved(client, server):
    listed = client.models.list().data
    assert [m.id for m in listed] == [server.model]
    assert client.models.retrieve(server.model).id == server.model
    with pytest.raises(openai.NotFoundError) as unknown:
        client.models.retrieve("someone/unknown-model")
    assert unknown.value.code == "model_not_found"


def test_errors_reach_the_client_as_its_own_classes(client):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="any", messages=QUESTION, temperature=-1)
    assert refused.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as overflow:
        client.completions.create(model="any", prompt=[5] * 5000, max_tokens=1)
    assert overflow.value.code == "context_length_exceeded"
    assert "5000" in overflow.value.message and "4096" in overflow.value.message
