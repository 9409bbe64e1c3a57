"""Start and end of the server: quick to answer, clear about what is wrong, orderly to stop."""
import json
import shutil
import signal
import threading
import time

import serving


def test_health_answers_within_a_fifth_of_a_second_and_the_model_within_one():
    best_health, best_ready = 9.0, 9.0
    for _ in range(5):  # the best of five: the machine may be busy with something else
        with serving.Server(serving.starter_model(), ready=False) as server:
            best_health = min(best_health, server.wait_for_health())
            assert server.http.get("/v1/models").status_code == 200
            best_ready = min(best_ready, time.monotonic() - server.started)
    assert best_health < 0.2
    assert best_ready < 1.0


def test_sigterm_lets_a_stream_end_and_exits_0(tiny):
    with serving.Server(tiny) as server:
        result = {}
        body = serving.chat_body("Go on.", temperature=1, max_tokens=400)
        client = threading.Thread(
            target=lambda: result.update(done=serving.stream(server.http, "/v1/chat/completions", body)[2]))
        client.start()
        while server.metric("hearth_rows_active") < 1:
            time.sleep(0.005)
        assert server.stop(signal.SIGTERM) == 0
        client.join()
        assert result["done"]


def test_a_stream_that_takes_too_long_gets_an_error_frame(tiny):
    with serving.Server(tiny, env={"HEARTH_SHUTDOWN_TIMEOUT_MS": "100"}) as server:
        result = {}
        body = {**serving.chat_body("Go on.", temperature=1, max_tokens=4000), "stream": True}

        def read():
            with server.http.stream("POST", "/v1/chat/completions", json=body) as response:
                result["chunks"], result["done"] = serving.frames(response)

        client = threading.Thread(target=read)
        client.start()
        while server.metric("hearth_rows_active") < 1:
            time.sleep(0.005)
        assert server.stop(signal.SIGTERM) == 0
        client.join()
        assert "were cut" in server.output()
        assert "stopped" in result["chunks"][-1]["error"]["message"] and not result["done"]


def test_a_second_signal_ends_it_at_once(tiny):
    with serving.Server(tiny) as server:
        body = serving.chat_body("Go on.", temperature=1, max_tokens=4000)
        client = threading.Thread(target=lambda: swallow(server, body))
        client.start()
        while server.metric("hearth_rows_active") < 1:
            time.sleep(0.005)
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        start = time.monotonic()
        assert server.stop(signal.SIGINT) not in (0, None)
        assert time.monotonic() - start < 2
        client.join()


def swallow(server, body):
    try:
        serving.stream(server.http, "/v1/chat/completions", body)
    except Exception:  # the connection breaks: that is what the test asks for
        pass


def test_a_taken_port_is_refused_naming_the_model_that_holds_it(tiny):
    with serving.Server(tiny) as server:
        second = serving.Server(tiny, "--port", server.port, ready=False)
        with second:
            assert second.process.wait(20) == 1
            assert "tiny-chat" in second.output() and str(server.port) in second.output()


def test_a_truncated_weight_file_ends_the_server_with_its_name(tiny, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with serving.Server(broken, ready=False) as server:
        assert server.process.wait(30) == 1
        assert "model.safetensors" in server.output()


def test_a_missing_tokenizer_ends_the_server_with_its_name(tiny, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    (broken / "tokenizer.json").unlink()
    with serving.Server(broken, ready=False) as server:
        assert server.process.wait(30) == 1
        assert "tokenizer.json" in server.output()


def test_a_template_that_raises_is_a_400_with_its_words(tiny, tmp_path):
    picky = tmp_path / "picky"
    shutil.copytree(tiny, picky)
    (picky / "chat_template.jinja").write_text("{{ raise_exception('roles must alternate') }}")
    with serving.Server(picky) as server:
        answer = server.http.post("/v1/chat/completions", json=serving.chat_body("hi"))
        assert answer.status_code == 400
        assert "prompt build failed" in answer.json()["error"]["message"]
        assert "roles must alternate" in answer.json()["error"]["message"]


def test_the_stop_ids_are_the_union_of_all_files(tiny, tmp_path):
    """Whichever end-of-turn id comes out, the answer ends there and its text is not shown."""
    model = tmp_path / "ends"
    shutil.copytree(tiny, model)
    config = json.loads((model / "config.json").read_text())
    config["eos_token_id"] = 11
    (model / "config.json").write_text(json.dumps(config))
    (model / "generation_config.json").write_text(json.dumps({"eos_token_id": [11, 12]}))
    with serving.Server(model) as server:
        own = server.http.post("/tokenize", json={"content": "<|im_end|>"}).json()["tokens"]
        for token in [11, 12, *own]:
            answer = server.http.post("/v1/chat/completions", json=serving.chat_body(
                "hi", max_tokens=16, logit_bias={str(token): 1000})).json()["choices"][0]
            assert answer["finish_reason"] == "stop", token
            assert answer["message"]["content"] == "", token
