"""Which names of a model are answered: its own; every other is a 404 at once, and nothing is looked up."""
import socket
import time

import pytest

import serving

HI = [{"role": "user", "content": "hi"}]
POSTS = {
    "/v1/chat/completions": {"messages": HI, "max_tokens": 2},
    "/v1/completions": {"prompt": "hi", "max_tokens": 2},
    "/v1/responses": {"input": "hi", "max_output_tokens": 2},
    "/v1/responses/input_tokens": {"input": "hi"},
    "/v1/messages": {"messages": HI, "max_tokens": 2},
    "/v1/messages/count_tokens": {"messages": HI},
    "/api/chat": {"messages": HI, "stream": False, "options": {"num_predict": 2}},
    "/api/generate": {"prompt": "hi", "stream": False, "options": {"num_predict": 2}},
    "/tokenize": {"content": "hi"},
    "/detokenize": {"tokens": [1]},
}
OTHERS = ["./tiny-chat-4bit", "TINY-CHAT-4BIT", "gpt-4o", "default", "", "../../secrets", "someone/unknown-model",
          "claude-sonnet-4-5", "tiny-chat", "tiny-chat-4bit/", "/etc/passwd", "http://127.0.0.1:1/x"]


@pytest.fixture(scope="module")
def proxy():
    """What every way out of the program is pointed at: it must stay without a visitor."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.fixture(scope="module")
def server(tiny, tmp_path_factory, proxy):
    folder = tmp_path_factory.mktemp("models") / "tiny-chat-4bit"
    folder.symlink_to(tiny, target_is_directory=True)
    way_out = f"http://127.0.0.1:{proxy.getsockname()[1]}"
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "HF_ENDPOINT")
    with serving.Server(folder, env=dict.fromkeys(names, way_out)) as running:
        yield running


def post(server, path, name):
    return server.http.post(path, json={**POSTS[path], "model": name})


@pytest.mark.parametrize("path", POSTS)
def test_the_folders_name_is_answered(server, path):
    assert server.model == "tiny-chat-4bit"
    for name in ("tiny-chat-4bit", "tiny-chat-4bit:latest", "local", None):
        assert post(server, path, name).status_code == 200, name


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("path", POSTS)
def test_any_other_name_is_a_404_at_once(server, proxy, path, name):
    took = []
    while min(took, default=1) >= 0.1 and len(took) < 5:  # a busy machine may lose one
        began = time.monotonic()
        answer = post(server, path, name)
        took.append(time.monotonic() - began)
    assert min(took) < 0.1
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("application/json")
    error = answer.json()["error"]
    if path.startswith("/api/"):
        assert "tiny-chat-4bit" in error
    else:
        assert "tiny-chat-4bit" in error["message"] and error["type"] in ("not_found_error", "invalid_request_error")
        assert path.startswith("/v1/messages") or error["code"] == "model_not_found"
    with pytest.raises(BlockingIOError):
        proxy.accept()


def test_a_stream_of_an_unknown_model_is_a_404_and_no_stream(server):
    body = {**POSTS["/v1/chat/completions"], "model": "gpt-4o", "stream": True}
    answer = server.http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 404 and answer.headers["content-type"].startswith("application/json")


def test_the_served_name_and_the_models_own_are_both_its(tiny):
    with serving.Server(tiny, "--served-name", "house/model") as server:
        assert server.model == "house/model"
        for name in ("house/model", "tiny-chat"):
            answer = post(server, "/v1/chat/completions", name)
            assert answer.status_code == 200 and answer.json()["model"] == "house/model"
        assert post(server, "/v1/chat/completions", "model").status_code == 404
        assert server.http.get("/v1/models/house%2Fmodel").status_code == 200
