"""Answers held to schemas, grammars, choices and forced tool calls."""
import concurrent.futures
import json
import re

import jsonschema
import pytest

import schema_corpus
import serving

CLOSERS = ('"', "}", "]", '"}', '"]', "}}", "]}", ",", ":", "0", "1")


@pytest.fixture(scope="module")
def bias(server):
    """Leans a random model toward what ends strings, lists and objects."""
    return {str(i): 6 for i in {ids[0] for ids in map(tokens(server), CLOSERS) if len(ids) == 1}}


def tokens(server):
    return lambda text: server.http.post("/tokenize", json={"content": text, "add_special": False}).json()["tokens"]


def ask(server, **fields):
    return server.http.post("/v1/chat/completions", json=serving.chat_body("Fill in one record.", **fields))


def schema_format(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "record", "schema": schema, "strict": True, **more}}


def answer(response):
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def refusal(response):
    assert response.status_code == 400, response.text
    return response.json()["error"]


def check(schema, text):
    """The value that `text` is, which must be valid."""
    value = json.loads(text)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    kind(schema).validate(value)
    return value


HELD = [row for row in schema_corpus.corpus() if not row[2]]
REFUSED = [row for row in schema_corpus.corpus() if row[2]]


def test_the_corpus_is_large_and_its_names_are_distinct():
    assert len(schema_corpus.corpus()) >= 300
    assert len({name for name, _, _ in schema_corpus.corpus()}) == len(schema_corpus.corpus())


def test_every_finished_answer_matches_its_schema(server, bias):
    def one(row):
        name, schema, _ = row
        finished, faults = 0, []
        for seed in range(3):
            response = ask(server, response_format=schema_format(schema), temperature=1, seed=seed, max_tokens=120,
                           logit_bias=bias)
            if response.status_code != 200:
                return 0, [(name, response.text)]
            choice = response.json()["choices"][0]
            if choice["finish_reason"] != "stop":
                continue
            finished += 1
            try:
                check(schema, choice["message"]["content"])
            except (ValueError, jsonschema.ValidationError) as wrong:
                faults.append((name, choice["message"]["content"], str(wrong)[:200]))
        return finished, faults

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = list(pool.map(one, HELD))
    faults = [fault for _, found in results for fault in found]
    assert not faults, f"{len(faults)}: {faults[:5]}"
    idle = [HELD[i][0] for i, (finished, _) in enumerate(results) if not finished]
    assert len(idle) <= len(HELD) // 10, f"never finished: {idle}"


def test_what_cannot_be_held_is_refused_before_a_token(server):
    before = server.metric("hearth_completion_tokens_total")
    for name, schema, keyword in REFUSED:
        error = refusal(ask(server, response_format=schema_format(schema), max_tokens=5))
        assert error["code"] == "invalid_json_schema", name
        assert f'"{keyword}"' in error["message"], (name, error)
        assert error["param"].startswith("response_format.json_schema.schema"), (name, error)
    assert server.metric("hearth_completion_tokens_total") == before


def test_a_schema_that_is_not_strict_is_refused_too(server):
    error = refusal(ask(server, response_format={"type": "json_schema", "json_schema": {
        "name": "x", "schema": {"properties": {"k": {"not": {}}}}}}))
    assert error["param"] == "response_format.json_schema.schema/properties/k/not"


CARD = schema_corpus.obj({"title": {"type": "string", "maxLength": 12}, "rank": {"type": "integer", "maximum": 99, "minimum": 0}},
                         additionalProperties=False)


@pytest.mark.parametrize("form", [schema_format(CARD), {"type": "json_object"}], ids=["schema", "object"])
def test_blanks_do_not_run_away(server, bias, form):
    blanks = {str(ids[0]): 30 for ids in map(tokens(server), (" ", "\n", "  ", "\t")) if len(ids) == 1}
    assert blanks
    choice = answer(ask(server, response_format=form, temperature=0, max_tokens=200, logit_bias={**bias, **blanks}))
    text = choice["message"]["content"]
    outside = re.sub(r'"(\\.|[^"\\])*"?', '""', text)
    assert not re.search(r"\s{5}", outside), text
    if form["type"] == "json_schema":
        assert choice["finish_reason"] == "stop"
        check(CARD, text)


def test_compact_separators(server, bias):
    form = schema_format(CARD, any_whitespace=False)
    text = answer(ask(server, response_format=form, temperature=1, seed=1, max_tokens=100, logit_bias=bias))["message"]["content"]
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)


def test_keys_keep_the_order_of_the_request_streamed_and_not(server, bias):
    schema = dict((name, s) for name, s, _ in schema_corpus.corpus())["record of the case"]
    body = serving.chat_body("Fill in one record.", response_format=schema_format(schema), temperature=0, max_tokens=300,
                             logit_bias=bias)
    choice = answer(server.http.post("/v1/chat/completions", json=body))
    texts, _, done = serving.stream(server.http, "/v1/chat/completions", body)
    assert done and texts[0] == choice["message"]["content"]
    if choice["finish_reason"] == "stop":
        assert list(check(schema, texts[0])) == list(schema["properties"])


def test_choices_regular_expressions_and_grammars(server):
    for seed in range(5):
        def text(**fields):
            return answer(ask(server, temperature=1, seed=seed, max_tokens=40, **fields))["message"]["content"]
        assert text(guided_choice=["ab", "abc", "north"]) in ("ab", "abc", "north")
        assert re.fullmatch(r"[A-Z]{2}-\d{3}", text(guided_regex=r"^[A-Z]{2}-\d{3}$"))
        assert re.fullmatch(r"(yes|no) [0-9]", text(guided_grammar='root ::= ("yes" | "no") " " [0-9]'))
        assert text(guided_grammar="root: A | B\nA: \"one\"\nB: \"two\"") in ("one", "two")


def test_text_completions_are_held_too(server):
    body = {"prompt": "Direction:", "guided_choice": ["north", "south"], "max_tokens": 20, "temperature": 1, "n": 4}
    texts = [c["text"] for c in server.http.post("/v1/completions", json=body).json()["choices"]]
    assert len(texts) == 4 and set(texts) <= {"north", "south"}


def test_the_first_field_that_is_there_decides(server):
    choice = answer(ask(server, guided_grammar='root ::= "g"', response_format=schema_format({"const": 1}), guided_regex="r",
                        guided_choice=["c"]))
    assert choice["message"]["content"] == "g"
    assert answer(ask(server, structured_outputs={"const": 1}, guided_regex="r"))["message"]["content"] == "1"
    assert answer(ask(server, guided_regex="r", guided_choice=["c"]))["message"]["content"] == "r"


def test_a_mixed_batch_equals_the_solo_runs(server):
    def fields(row):
        held = {"response_format": schema_format(CARD)} if row % 2 else {}
        return {"seed": row, "temperature": 1, "max_tokens": 30, **held}
    solo = [answer(ask(server, **fields(row)))["message"]["content"] for row in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        batch = list(pool.map(lambda row: answer(ask(server, **fields(row)))["message"]["content"], range(8)))
    assert batch == solo


def test_log_probabilities_do_not_change(server):
    body = {"logprobs": True, "top_logprobs": 3, "temperature": 0, "max_tokens": 1}
    free = answer(ask(server, **body))["logprobs"]["content"][0]
    held = answer(ask(server, **body, guided_choice=["zebra"]))["logprobs"]["content"][0]
    assert held["top_logprobs"] == free["top_logprobs"] and held["logprob"] < free["logprob"]


@pytest.mark.parametrize("which", ["server", "l1_server"])
def test_both_tiers_hold(request, which):
    choice = answer(ask(request.getfixturevalue(which), guided_choice=["north", "south"], temperature=1, seed=3))
    assert choice["message"]["content"] in ("north", "south") and choice["finish_reason"] == "stop"


# --- tools

TIMER = {"type": "function", "function": {"name": "set_timer", "parameters": {
    "type": "object", "properties": {"minutes": {"type": "integer", "minimum": 1, "maximum": 60}}, "required": ["minutes"]}}}
TIDE = {"type": "function", "function": {"name": "get_tide", "parameters": {
    "type": "object", "properties": {"port": {"enum": ["Brest", "Dover"]}}, "required": ["port"]}}}


def calls(choice):
    return choice["message"].get("tool_calls") or []


def test_a_call_is_forced(server):
    for seed in range(4):
        choice = answer(ask(server, tools=[TIMER, TIDE], tool_choice="required", parallel_tool_calls=False, temperature=1, seed=seed,
                            max_tokens=100))
        assert len(calls(choice)) == 1 and choice["finish_reason"] == "tool_calls"
        function = calls(choice)[0]["function"]
        tool = {"set_timer": TIMER, "get_tide": TIDE}[function["name"]]
        check(tool["function"]["parameters"], function["arguments"])


def test_the_named_tool_alone_is_called(server):
    for seed in range(4):
        choice = answer(ask(server, tools=[TIMER, TIDE], tool_choice={"type": "function", "function": {"name": "get_tide"}},
                            temperature=1, seed=seed, max_tokens=100))
        assert {c["function"]["name"] for c in calls(choice)} <= {"get_tide"}
        assert calls(choice) or choice["finish_reason"] == "length"


def test_a_cut_call_ends_by_length(server):
    choice = answer(ask(server, tools=[TIMER], tool_choice="required", max_tokens=3))
    assert choice["finish_reason"] == "length" and not calls(choice)


def test_the_hard_tool(server, bias):
    schema = dict((name, s) for name, s, _ in schema_corpus.corpus())["tool hard"]
    tool = {"type": "function", "function": {"name": "file_note", "parameters": schema}}
    finished = 0
    ending = {**bias, **{str(ids[0]): 9 for ids in map(tokens(server), ('"', "]", "}")) if len(ids) == 1}}
    for seed in range(6):
        choice = answer(ask(server, tools=[tool], tool_choice="required", parallel_tool_calls=False, temperature=1, seed=seed,
                            max_tokens=600, logit_bias=ending))
        for call in calls(choice):
            finished += 1
            value = check(schema, call["function"]["arguments"])
            assert value["urgency"] in ("low", "high")
    assert finished


def test_a_tool_that_cannot_be_held_is_named(server):
    tool = {"type": "function", "function": {"name": "odd", "parameters": {"type": "object", "properties": {"k": {"not": {}}}}}}
    error = refusal(ask(server, tools=[TIMER, tool], tool_choice="required"))
    assert error["param"] == "tools[1].function.parameters/properties/k/not" and '"odd"' in error["message"]
    answer(ask(server, tools=[TIMER, tool], max_tokens=5))
    strict = {"type": "function", "function": {**tool["function"], "strict": True}}
    refusal(ask(server, tools=[strict], max_tokens=5))


def test_constrained_text_or_a_call(server):
    for seed in range(6):
        choice = answer(ask(server, tools=[TIMER], guided_choice=["north", "south"], temperature=1, seed=seed, max_tokens=60))
        content = choice["message"]["content"]
        if choice["finish_reason"] == "length":  # cut off within a call, which is given back as text
            assert '"set_timer"' in content
        elif not calls(choice):
            assert content in ("north", "south")


def test_strict_tools_in_a_free_answer(server):
    strict = {"type": "function", "function": {**TIMER["function"], "strict": True}}
    choice = answer(ask(server, tools=[strict, TIDE], temperature=1, seed=1, max_tokens=40))
    assert choice["finish_reason"] in ("stop", "length")


def test_grammars_can_be_switched_off(tiny):
    with serving.Server(tiny, env={"HEARTH_GRAMMAR": "0"}) as loose:
        free = ask(loose, max_tokens=5, temperature=0)
        told = ask(loose, max_tokens=5, temperature=0, response_format=schema_format(CARD))
        assert "Warning" not in free.headers
        assert told.headers["Warning"] == "grammar not enforced: HEARTH_GRAMMAR=0"
        assert answer(told) and told.json()["usage"]["prompt_tokens"] > free.json()["usage"]["prompt_tokens"]
        with loose.http.stream("POST", "/v1/chat/completions", json=serving.chat_body(
                "x", guided_choice=["a"], max_tokens=3, stream=True)) as response:
            assert response.headers["Warning"].startswith("grammar not enforced")
            response.read()
