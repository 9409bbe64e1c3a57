"""`serve --model-pool`: models come when they are named and go when there is no room or no use."""
import json
import shutil
import signal
import socket
import time

import pytest

import pools
import serving


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return pools.make_models(tmp_path_factory.mktemp("pool"))


@pytest.fixture(scope="module")
def server(root):
    with pools.Pool(root, "--model-pool", 2) as running:
        yield running


def test_every_model_of_the_machine_is_listed_the_first_one_first(server):
    listed = server.http.get("/v1/models").json()
    assert [row["id"] for row in listed["data"]] == ["tiny-a", "tiny-b", "tiny-c"]
    assert listed["first_id"] == "tiny-a" and listed["last_id"] == "tiny-c"
    assert all(row["context_window"] == 4096 for row in listed["data"])
    assert [m["name"] for m in server.http.get("/api/tags").json()["models"]] == ["tiny-a", "tiny-b", "tiny-c"]


def test_a_model_is_loaded_when_a_request_names_it(server):
    said = {name: server.say(name) for name in ("tiny-a", "tiny-b")}
    assert said["tiny-a"] != said["tiny-b"]
    assert server.resident() == {"tiny-a", "tiny-b"}
    assert server.http.get("/v1/models/tiny-b").json()["capabilities"]["chat_completions"]
    assert server.say("tiny-b:latest".removesuffix(":latest")) == said["tiny-b"]
    assert {m["name"] for m in server.http.get("/api/ps").json()["models"]} == {"tiny-a", "tiny-b"}


def test_the_least_recently_used_makes_room(server):
    for name in ("tiny-a", "tiny-b", "tiny-a", "tiny-c"):
        server.say(name)
    assert server.resident() == {"tiny-a", "tiny-c"}
    assert server.metric("hearth_models_resident") == 2


def test_other_names_are_a_404_that_tells_the_models(server):
    answer = server.ask("tiny-d")
    assert answer.status_code == 404
    assert all(name in answer.json()["error"]["message"] for name in ("tiny-a", "tiny-b", "tiny-c"))


def test_asking_about_a_model_does_not_load_it(server):
    server.say("tiny-a"), server.say("tiny-b")
    shown = server.http.post("/api/show", json={"model": "tiny-c"}).json()
    assert shown["model_info"]["llama.context_length"] == 4096
    assert server.resident() == {"tiny-a", "tiny-b"}


def test_every_wire_reaches_the_model_that_it_names(server):
    hi = [{"role": "user", "content": "hi"}]
    for path, body in {"/v1/messages": {"messages": hi, "max_tokens": 2},
                       "/v1/responses": {"input": "hi", "max_output_tokens": 2},
                       "/api/chat": {"messages": hi, "stream": False, "options": {"num_predict": 2}},
                       "/v1/completions": {"prompt": "hi", "max_tokens": 2}}.items():
        answer = server.http.post(path, json={**body, "model": "tiny-c"})
        assert answer.status_code == 200 and answer.json()["model"] == "tiny-c", path


def test_requests_for_one_model_share_its_load(root):
    with pools.Pool(root, "--model-pool", 2) as server:
        said = pools.at_once(*[lambda: server.say("tiny-b")] * 6)
        assert len(set(said)) == 1
        assert server.output().count("Loaded tiny-b") == 1


def test_a_failed_load_is_told_to_its_waiters_and_disturbs_nobody(root, tmp_path):
    models = tmp_path / "models"
    for name in ("tiny-a", "tiny-b"):
        shutil.copytree(root / name, models / name)
    config = json.loads((models / "tiny-b" / "config.json").read_text())
    config["num_hidden_layers"] = 3
    (models / "tiny-b" / "config.json").write_text(json.dumps(config))
    with pools.Pool(models, "--model-pool", 2) as server:
        stream = pools.Streaming(server, "tiny-a")
        stream.began.wait(30)
        for answer in pools.at_once(*[lambda: server.ask("tiny-b")] * 3):
            assert answer.status_code == 500
            assert "model.layers.2" in answer.json()["error"]["message"]
        assert stream.join().whole
        assert server.resident() == {"tiny-a"}
        shutil.copy(root / "tiny-b" / "config.json", models / "tiny-b" / "config.json")
        assert server.say("tiny-b")


def test_a_client_that_leaves_while_it_waits_leaves_nothing_behind(root):
    with pools.Pool(root, "--model-pool", 1) as server:
        stream = pools.Streaming(server, "tiny-a", tokens=600)
        stream.began.wait(30)
        body = json.dumps(serving.chat_body("hi", model="tiny-b")).encode()
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port)) as s:
                s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
                          % (len(body), body))
                time.sleep(0.05)
        server.wait_for(lambda: "tiny-b" not in server.states(), "the waiters are gone")
        assert stream.join().whole
        assert server.resident() == {"tiny-a"}


def test_requests_race_for_one_place_and_all_are_answered(root):
    """swap-race: a stream of A, then B, then A twice; nothing in flight is unloaded, no pair is ever there."""
    with pools.Pool(root, "--model-pool", 1) as server:
        for _ in range(pools.RACES):
            stream = pools.Streaming(server, "tiny-a", tokens=300)
            assert stream.began.wait(30)
            answers = pools.at_once(lambda: server.ask("tiny-b"), lambda: server.ask("tiny-a"),
                                    lambda: server.ask("tiny-a"), lambda: server.states())
            assert len(answers.pop()) >= 1
            assert [answer.status_code for answer in answers] == [200, 200, 200]
            assert [answer.json()["model"] for answer in answers] == ["tiny-b", "tiny-a", "tiny-a"]
            assert stream.join().whole
            there = [name for name, state in server.states().items() if state != "absent"]
            assert len(there) == 1


def test_an_idle_model_goes_and_comes_again_but_not_while_it_answers(root):
    with pools.Pool(root, "--model-idle-unload", 1) as server:
        stream = pools.Streaming(server, "tiny-a", tokens=1500)
        assert stream.began.wait(30)
        assert stream.join().whole
        before = server.say("tiny-a")
        server.wait_for(lambda: not server.states(), "the model was unloaded")
        assert server.http.get("/v1/models").json()["data"][0]["capabilities"]["chat_completions"]
        assert server.say("tiny-a") == before


def test_a_models_section_of_the_config_file_counts_for_it(root, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[models."tiny-b"]\nmax-tokens = 3\nserved-name = "house/b"\npin = true\nbatch = 1\n')
    with pools.Pool(root, "--model-pool", 1, "--config", config) as server:
        assert server.ask("tiny-b").json()["model"] == "house/b"
        answer = server.ask("house/b", max_tokens=None).json()
        assert answer["usage"]["completion_tokens"] == 3
        assert server.http.get("/v1/models/house%2Fb").json()["batch_mode"] == "off"
        refused = server.ask("tiny-a")  # the only place is pinned
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "model_unavailable"
        assert server.resident() == {"house/b"}


@pytest.mark.parametrize("flags", [(), ("--isolate",)])
def test_a_models_context_is_what_its_section_says_else_the_flag(root, tmp_path, flags):
    config = tmp_path / "config.toml"
    config.write_text('[models."tiny-b"]\ncontext = 300\n')
    with pools.Pool(root, "--model-pool", 2, "--config", config, "--context", 600, *flags) as server:
        for name, context in {"tiny-a": 600, "tiny-b": 300}.items():
            row = server.http.get(f"/v1/models/{name}").json()
            assert row["context_window"] == row["max_input_tokens"] == context
            answer = server.ask(name, max_tokens=None, ignore_eos=True).json()
            assert answer["usage"]["total_tokens"] <= context
            refused = server.ask(name, "word " * context)
            assert refused.status_code == 400 and refused.json()["error"]["code"] == "context_length_exceeded"
            assert server.http.get(f"/v1/models/{name}").json()["context_window"] == context


@pytest.mark.parametrize("flags", [(), ("--isolate",)])
def test_sighup_looks_for_models_again(root, tmp_path, flags):
    models = tmp_path / "models"
    for name in ("tiny-a", "tiny-b"):
        shutil.copytree(root / name, models / name)

    def listed():
        return [row["id"] for row in server.http.get("/v1/models").json()["data"]]

    def hang_up():
        server.process.send_signal(signal.SIGHUP)

    with pools.Pool(models, "--model-pool", 3, *flags) as server:
        said = server.say("tiny-b")
        shutil.copytree(root / "tiny-c", models / "tiny-c")
        assert server.ask("tiny-c").status_code == 404
        hang_up()
        server.wait_for(lambda: listed() == ["tiny-a", "tiny-b", "tiny-c"], "the new model is listed")
        assert server.say("tiny-c")
        (models / "tiny-b").rename(tmp_path / "aside")
        hang_up()
        server.wait_for(lambda: listed() == ["tiny-a", "tiny-c"], "the model that is gone is not")
        server.wait_for(lambda: server.resident() == {"tiny-a", "tiny-c"}, "nor is it loaded any more")
        gone = server.ask("tiny-b")
        assert gone.status_code == 404 and gone.json()["error"]["code"] == "model_not_found"
        (tmp_path / "aside").rename(models / "tiny-b")
        hang_up()
        server.wait_for(lambda: "tiny-b" in listed(), "it is back")
        assert server.say("tiny-b") == said


@pytest.mark.parametrize("flags", [(), ("--isolate",)])
def test_the_prompt_cache_is_one_for_all_models(root, flags):
    cap = 64 << 20

    def held():
        return [server.http.get("/stats").json()["prompt_cache"]["max_bytes"],
                server.metric("hearth_prompt_cache_max_bytes")]

    with pools.Pool(root, "--model-pool", 2, "--prompt-cache", f"{cap}B", *flags) as server:
        assert held() == [cap, cap]
        server.say("tiny-b")
        server.wait_for(lambda: held()[1] == cap and (not flags or held()[0] == cap // 2), "two halves")
        server.say("tiny-c"), server.say("tiny-c")
        server.wait_for(lambda: held()[1] == cap, "one went, one came")


def test_the_memory_budget_is_one_for_all_models(root):
    weights = sum(path.stat().st_size for path in (root / "tiny-b").glob("*.safetensors"))
    budget = 2 * weights + 512 * 550_000 + 400_000  # both models and a short answer
    with pools.Pool(root, "--model-pool", 2, "--memory-budget", budget / 1e9) as server:
        def context():
            return server.http.get("/stats").json()["admission"]["enforced_context_tokens"]

        alone = context()
        server.say("tiny-b")
        server.wait_for(lambda: context() < alone, "the other model leaves less room")
        assert server.pool()["max_bytes"] <= budget
        refused = server.ask("tiny-a", "word " * 2500)
        assert refused.status_code == 400 and refused.json()["error"]["code"] == "context_over_budget"


def test_a_wrong_value_of_a_section_or_pin_ends_the_start(root, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[models."tiny-b"]\nbatch = "many"\n')
    with pools.Pool(root, "--model-pool", 1, "--config", config, ready=False) as server:
        assert server.process.wait(30) == 2
        assert "line 2: batch: got 'many'" in server.output()
    with pools.Pool(root, "--model-pool", 1, "--pin", "tiny-x", ready=False) as server:
        assert server.process.wait(30) == 2
        assert "tiny-x" in server.output()


def test_memory_and_threads_are_where_they_were_after_many_swaps(root):
    with pools.Pool(root, "--model-pool", 1) as server:
        def swap(times):
            for i in range(times):
                server.say(("tiny-b", "tiny-a")[i % 2])
            return server.memory()

        first, threads = swap(10)
        last, threads_after = swap(pools.SWAPS)
        assert threads_after == threads
        assert last < first * 1.05 + (4 << 20), f"{first >> 20} MiB, {last >> 20} MiB after {pools.SWAPS} swaps"
