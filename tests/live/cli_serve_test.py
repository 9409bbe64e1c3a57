"""serve as a program: start, ready, stop, ports. What it answers is tested in tests/wire."""
import contextlib
import json
import re
import select
import signal
import socket
import time
import urllib.request


@contextlib.contextmanager
def serving(hearth, *args, env=()):
    """A running server and its address, read from what it says."""
    process = hearth.start("serve", "--port", "0", *args, env=env)
    try:
        yield process, ready_address(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ready_address(process, seconds=60):
    text, end = b"", time.monotonic() + seconds
    while not (found := re.search(rb"API\s+(http://\S+)/v1", text)):
        ready, _, _ = select.select([process.stderr], [], [], max(0, end - time.monotonic()))
        assert ready, f"not ready after {seconds} s: {text!r}"
        piece = process.stderr.read1(4096)
        assert piece, f"ended before it was ready: {text!r}"
        text += piece
    process.said = text
    return found[1].decode()


def post(url, body, **kwargs):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=60, **kwargs)


def test_it_says_model_and_addresses_on_stderr_alone(hearth, model):
    with serving(hearth, "--model", model) as (process, url):
        body = {"messages": [{"role": "user", "content": "What is the capital of France?"}],
                "temperature": 0, "max_tokens": 40}
        answer = json.load(post(url + "/v1/chat/completions", body))
        assert "Paris" in answer["choices"][0]["message"]["content"]
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=20)
        said = process.said + rest
        assert process.returncode == 0
        assert out == b""
        assert b"\x1b" not in said
        assert b"Loaded" in said and b"Ready" in said and b"Ctrl-C" in said


def test_health_answers_while_the_model_loads(hearth, model):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    start = time.monotonic()
    process = hearth.start("serve", "--model", model, "--port", port)
    try:
        while True:
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                    assert answer.status in (200, 503)
                    break
            assert time.monotonic() - start < 5
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()


def test_sigterm_ends_a_stream_in_order_within_five_seconds(hearth, model):
    with serving(hearth, "--model", model) as (process, url):
        body = {"messages": [{"role": "user", "content": "Tell a very long story."}], "stream": True,
                "max_tokens": 4000, "logit_bias": {"2": -100}}
        stream = post(url + "/v1/chat/completions", body)
        assert stream.readline().startswith(b"data: ")
        sent = time.monotonic()
        process.send_signal(signal.SIGTERM)
        rest = stream.read()
        assert process.wait(timeout=10) == 0
        assert time.monotonic() - sent < 5
        last = [line for line in rest.split(b"\n") if line.startswith(b"data: ")][-1]
        assert last == b"data: [DONE]" or b"error" in last, last


def test_a_second_signal_ends_it_at_once(hearth, model):
    with serving(hearth, "--model", model, env={"HEARTH_SHUTDOWN_TIMEOUT_MS": "60000"}) as (process, url):
        body = {"messages": [{"role": "user", "content": "Tell a very long story."}], "stream": True,
                "max_tokens": 4000}
        stream = post(url + "/v1/chat/completions", body)
        assert stream.readline()
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        # By the signal itself, or with its number as a shell tells it.
        assert process.wait(timeout=5) in (130, -signal.SIGINT)


def test_a_port_in_use_is_told_before_the_weights_are_read(hearth, model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = hearth("serve", "--model", model, "--port", port)
    assert done.returncode == 1
    assert str(port) in done.stderr.decode() and b"Loaded" not in done.stderr
    with serving(hearth, "--model", model, "--served-name", "mine") as (_, url):
        done = hearth("serve", "--model", model, "--port", url.rsplit(":", 1)[1])
        assert done.returncode == 1
        assert b"mine" in done.stderr  # the other server's model is named


def test_the_key_and_the_name_are_used(hearth, model):
    with serving(hearth, "--model", model, "--served-name", "mine", env={"HEARTH_API_KEY": "secret"}) as (_, url):
        request = urllib.request.Request(url + "/v1/models")
        try:
            urllib.request.urlopen(request, timeout=10)
            raise AssertionError("answered without a key")
        except urllib.error.HTTPError as e:
            assert e.code == 401
        request.add_header("Authorization", "Bearer secret")
        listed = json.load(urllib.request.urlopen(request, timeout=10))
        assert "mine" in [entry["id"] for entry in listed["data"]]


def test_sighup_indexes_models_anew_and_serving_goes_on(hearth, model, model_copy):
    with serving(hearth, "--model", model, "--log-level", "info") as (process, url):
        model_copy(at=hearth.home / "models/fresh")
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        said = b""
        while b"models indexed" not in said:
            ready, _, _ = select.select([process.stderr], [], [], max(0, end - time.monotonic()))
            assert ready, said
            said += process.stderr.read1(4096)
        assert urllib.request.urlopen(url + "/health", timeout=10).status == 200


def test_a_stop_while_loading_is_clean(hearth, model):
    process = hearth.start("serve", "--model", model, "--port", "0")
    time.sleep(0.15)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) in (0, 143, -signal.SIGTERM)  # before the handler is in place: by the signal
    assert b"error" not in process.stderr.read()
