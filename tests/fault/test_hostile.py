"""Clients that send what no client should, while another's stream goes on: it must not notice."""
import contextlib
import json
import random
import signal
import socket
import struct
import threading
import time

import pytest
import serving

PATH = "/v1/chat/completions"
KEPT = serving.chat_body("Stay.", temperature=0, max_tokens=600)
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST_GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def post(extra=b"", **fields):
    body = json.dumps(serving.chat_body("hi", **{"max_tokens": 5, **fields})).encode()
    return (b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" + extra +
            b"Content-Length: %d\r\n\r\n" % len(body) + body)


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def exchange(server, data):
    """All that comes until the server closes."""
    with connect(server) as s:
        s.sendall(data)
        out = b""
        with contextlib.suppress(ConnectionError):
            while piece := s.recv(1 << 16):
                out += piece
        return out


def reset(s):
    """Closes without the courtesies."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


@pytest.fixture(scope="module")
def alone(server):
    return serving.stream(server.http, PATH, KEPT)[0]


@contextlib.contextmanager
def untouched(server, alone):
    """A stream that runs meanwhile and must get what it got alone."""
    result = {}
    client = threading.Thread(target=lambda: result.update(texts=serving.stream(server.http, PATH, KEPT)[0]))
    client.start()
    yield
    client.join()
    assert result["texts"] == alone


def test_a_flood_of_pipelined_requests_is_answered_in_order(server, alone):
    with untouched(server, alone):
        answer = exchange(server, post(stream=True) + GET * 2000 + LAST_GET)
    assert answer.count(b"HTTP/1.1 200 OK") == 2002
    assert answer.index(b"data: [DONE]") < answer.index(b'{"status": "ok"}')


@pytest.mark.parametrize("data", [
    post(b"Transfer-Encoding: chunked\r\n"), post(b"Content-Length: 3\r\n"),
    post().replace(b"Content-Length: ", b"Content-Length: -"),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    GET.replace(b"Host", b"Host "), GET.replace(b"localhost", b"local\0host"),
    GET.replace(b"\r\n\r\n", b"\r\nHost: b\r\n\r\n"),
], ids=["length and chunks", "two lengths", "negative length", "TLS", "HTTP/2", "blank before colon", "NUL", "two hosts"])
def test_what_can_be_read_in_two_ways_is_refused(server, data):
    assert exchange(server, data.replace(b"Host", b"Connection: close\r\nHost", 1)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("count", [8, 100])
def test_many_clients_that_leave_in_the_same_moment(server, alone, count):
    """More of them than rows and queue can hold."""
    with untouched(server, alone):
        crowd = [connect(server) for _ in range(count)]
        for s in crowd:
            s.sendall(post(stream=True, max_tokens=3900, temperature=1))
        time.sleep(0.2)
        for s in crowd:
            reset(s)
        serving.until(lambda: server.metric("hearth_rows_active") + server.metric("hearth_rows_waiting") <= 1, 5,
                      "rows of those who left")
    assert server.http.get("/health").status_code == 200


def test_mutilated_requests_leave_nothing_behind(server, alone):
    rng = random.Random(1)
    with untouched(server, alone):
        for _ in range(200):
            data = bytearray(post(stream=rng.random() < 0.5))
            for _ in range(rng.randint(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            with connect(server) as s, contextlib.suppress(ConnectionError):
                s.sendall(data[:rng.randint(1, len(data))])
                if rng.random() < 0.3:
                    s.shutdown(socket.SHUT_WR)
    server.wait_until_idle(10)
    serving.until(lambda: server.metric("hearth_connections") < 5, 5, "their connections")


def test_hangups_under_load_end_nothing(server, alone):
    with untouched(server, alone):
        for _ in range(30):
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.005)
    assert server.process.poll() is None


def limit_descriptors(flags, tmp_path, monkeypatch):
    """Servers start behind `ulimit FLAGS`."""
    program = tmp_path / "hearth"
    program.write_text(f'#!/bin/sh\nulimit {flags}\nexec "{serving.binary()}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HEARTH_BINARY", str(program))


def test_without_a_descriptor_left_the_idle_make_room(tiny, tmp_path, monkeypatch):
    limit_descriptors("-n 60", tmp_path, monkeypatch)
    with serving.Server(tiny) as server, contextlib.ExitStack() as crowd:
        for _ in range(100):
            crowd.enter_context(connect(server))
        start = time.monotonic()
        assert exchange(server, LAST_GET).endswith(b'{"status": "ok"}')
        assert time.monotonic() - start < 15, "not the two minutes after which idle connections are closed"


def test_a_soft_limit_of_descriptors_is_raised(tiny, tmp_path, monkeypatch):
    limit_descriptors("-S -n 60", tmp_path, monkeypatch)
    with serving.Server(tiny) as server, contextlib.ExitStack() as crowd:
        crowd_of_100 = [crowd.enter_context(connect(server)) for _ in range(100)]
        serving.until(lambda: server.metric("hearth_connections") > 100, 10, "a hundred connections at once")
        crowd_of_100[0].sendall(LAST_GET)
        assert crowd_of_100[0].recv(100).startswith(b"HTTP/1.1 200")
