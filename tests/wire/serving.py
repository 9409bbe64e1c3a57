"""Runs the program as a server, for the wire and fault suites."""
import contextlib
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import httpx

ROOT = pathlib.Path(__file__).resolve().parents[2]


def binary():
    """The program under test: HEARTH_BINARY, which ctest sets."""
    return os.environ.get("HEARTH_BINARY") or str(ROOT / "build" / "release" / "hearth")


@functools.cache
def starter_model():
    """Folder of the real model: HEARTH_TEST_MODEL, else the project's starter model."""
    given = os.environ.get("HEARTH_TEST_MODEL")
    if given:
        return given
    made = subprocess.run([ROOT / "tools" / "starter-model"], check=True, capture_output=True, text=True)
    return made.stdout.strip()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(met, seconds, what):
    """Asks `met` again and again until it says something true, which is returned."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := met():
            return found
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what}")


class Server:
    """A running `hearth serve`."""

    def __init__(self, model, *flags, env=None, ready=True):
        self.port = free_port()
        self.log = tempfile.TemporaryFile()
        self.home = tempfile.TemporaryDirectory()
        command = [binary(), "serve", "--model", str(model), "--port", str(self.port), "--no-open"]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*command, *map(str, flags)], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
            env={**os.environ, "HEARTH_HOME": self.home.name, **(env or {})})
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=self.url, timeout=300)
        if ready:
            self.wait_for_health()
            self.model = self.http.get("/v1/models").json()["data"][0]["id"]

    def wait_for_health(self):
        """Seconds from the program's start to the first byte of /health."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.output()}")
            with contextlib.suppress(OSError):
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as s:
                    s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    if s.recv(1):
                        return time.monotonic() - self.started
            time.sleep(0.005)
        raise AssertionError(f"no answer within 60 s:\n{self.output()}")

    def output(self):
        # Read without a seek: the program writes where the offset stands, which is shared with it.
        log = self.log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    def metric(self, name):
        for line in self.http.get("/metrics").text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def wait_until_idle(self, seconds=5):
        """Seconds until the engine has no row left."""
        start = time.monotonic()
        while self.metric("hearth_rows_active") + self.metric("hearth_rows_waiting") > 0:
            if time.monotonic() - start > seconds:
                raise AssertionError(f"rows still run after {seconds} s")
            time.sleep(0.01)
        return time.monotonic() - start

    def stop(self, signal_number=signal.SIGTERM, seconds=30):
        """Exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"still running {seconds} s after signal {signal_number}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.http.close()
        self.log.close()
        self.home.cleanup()


def chat_body(text, **fields):
    return {"messages": [{"role": "user", "content": text}], **fields}


def text_of(answer):
    """The text of a chat completion's first choice."""
    return answer["choices"][0]["message"]["content"]


def cached(answer):
    """Its prompt's tokens that came out of the prompt cache."""
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"]


def frames(response):
    """JSON of every `data:` line of a stream, and whether it ended in [DONE]."""
    out, done = [], False
    for line in response.iter_lines():
        if line.startswith("data: "):
            assert not done, "a frame after [DONE]"
            if line == "data: [DONE]":
                done = True
            else:
                out.append(json.loads(line[6:]))
    return out, done


def stream(client, path, body):
    """(texts by choice, chunks, done) of one streamed request."""
    with client.stream("POST", path, json={**body, "stream": True}) as response:
        assert response.status_code == 200, response.read()
        chunks, done = frames(response)
    texts = {}
    for chunk in chunks:
        for choice in chunk.get("choices", []):
            text = choice["delta"].get("content", "") if "delta" in choice else choice["text"]
            texts[choice["index"]] = texts.get(choice["index"], "") + text
    return texts, chunks, done
