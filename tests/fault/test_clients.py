"""Clients that leave, stall or flood."""
import json
import socket
import threading
import time

from serving import chat_body, stream

PATH = "/v1/chat/completions"


def post_bytes(body):
    data = json.dumps(body).encode()
    return (b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(data)) + data


def begin(server, body):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    s.sendall(post_bytes(body))
    return s


def wait_for_rows(server, count):
    deadline = time.monotonic() + 10
    while server.metric("hearth_rows_active") + server.metric("hearth_rows_waiting") < count:
        assert time.monotonic() < deadline, "the rows never started"
        time.sleep(0.01)


def test_vanished_clients_free_their_rows_and_leave_the_others_alone(server):
    """A streams, B does not, C is still in prefill, D stays."""
    endless = {"temperature": 1, "max_tokens": 3900}
    kept = chat_body("Stay with me.", temperature=0, max_tokens=300)
    alone = stream(server.http, PATH, kept)[0]
    cancelled = server.metric("hearth_rows_cancelled_total")
    leaving = [begin(server, chat_body("A", stream=True, **endless)), begin(server, chat_body("B", **endless)),
               begin(server, chat_body("C " * 3500, stream=True, temperature=1))]
    result = {}
    staying = threading.Thread(target=lambda: result.update(texts=stream(server.http, PATH, kept)[0]))
    staying.start()
    wait_for_rows(server, 3)
    for s in leaving:
        s.close()
    deadline = time.monotonic() + 2
    while server.metric("hearth_rows_active") + server.metric("hearth_rows_waiting") > 1:
        assert time.monotonic() < deadline, "rows of vanished clients still run after 2 s"
        time.sleep(0.01)
    staying.join()
    assert result["texts"] == alone
    assert server.metric("hearth_rows_cancelled_total") == cancelled + 3


def test_a_disconnect_costs_at_most_a_few_steps(server):
    s = begin(server, chat_body("Go on.", stream=True, temperature=1, max_tokens=3900))
    wait_for_rows(server, 1)
    s.close()
    steps = server.metric("hearth_engine_steps_total")
    server.wait_until_idle(2)
    assert server.metric("hearth_engine_steps_total") - steps < 200, "of 3900: it was not let run"


def test_many_disconnects_leave_nothing_behind(server):
    before = server.metric("hearth_kv_bytes")
    for _ in range(50):
        begin(server, chat_body("x", stream=True, temperature=1, max_tokens=3900)).close()
    server.wait_until_idle(10)
    assert server.metric("hearth_kv_bytes") <= before
    assert server.metric("hearth_connections") < 5


def test_idle_and_half_sent_connections_do_not_keep_others_out(server):
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    for s in crowd[::2]:
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: loc")
    start = time.monotonic()
    assert server.http.get("/health").status_code == 200
    assert time.monotonic() - start < 1
    for s in crowd:
        s.close()


def test_a_client_that_reads_nothing_does_not_slow_the_others(server):
    stalled = begin(server, chat_body("Go on.", stream=True, temperature=1, max_tokens=3000, logprobs=True,
                                      top_logprobs=20))
    wait_for_rows(server, 1)
    kept = chat_body("Stay.", temperature=0, max_tokens=50)
    assert stream(server.http, PATH, kept)[2]
    stalled.close()
    server.wait_until_idle(5)


def test_health_answers_while_a_long_prompt_is_read(server):
    s = begin(server, chat_body("word " * 3800, stream=True, max_tokens=1))
    slowest = 0
    for _ in range(50):
        start = time.monotonic()
        assert server.http.get("/health").status_code == 200
        slowest = max(slowest, time.monotonic() - start)
    assert slowest < 0.5
    s.close()
    server.wait_until_idle(5)
