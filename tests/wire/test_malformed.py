"""Every row of malformed.py gets its 4xx, and a stream beside them all stays untouched."""
import threading

import httpx
import malformed
import pytest

from serving import chat_body, stream

LONG = chat_body("Tell me a long story.", temperature=1, seed=42, max_tokens=1200)


@pytest.fixture(scope="module")
def refused(server):
    """The answer to each row, all sent while one stream runs; then that stream and itself alone."""
    alone = stream(server.http, malformed.CHAT, LONG)[0]
    beside = {}

    def run():
        with httpx.Client(base_url=server.url, timeout=300) as client:
            beside["texts"], _, beside["done"] = stream(client, malformed.CHAT, LONG)

    running = threading.Thread(target=run)
    running.start()
    answers = {}
    for name, method, path, body, headers, _, _ in malformed.ROWS:
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        answers[name] = server.http.request(method, path, headers=headers, **content)
    running.join()
    return answers, alone, beside


def test_there_are_at_least_200_rows_with_names_of_their_own():
    assert len(malformed.ROWS) >= 200
    assert len({row[0] for row in malformed.ROWS}) == len(malformed.ROWS)


@pytest.mark.parametrize("name,status,param", [(r[0], r[5], r[6]) for r in malformed.ROWS],
                         ids=[r[0] for r in malformed.ROWS])
def test_refused(refused, name, status, param):
    answer = refused[0][name]
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    assert error["message"]
    if param:
        assert error["param"] == param, error


def test_the_stream_beside_them_was_untouched(refused):
    _, alone, beside = refused
    assert beside["done"] and beside["texts"] == alone


def test_the_server_is_as_before(refused, server):
    assert server.http.get("/health").status_code == 200
    assert server.http.post(malformed.CHAT, json=chat_body("hi", max_tokens=2)).status_code == 200
