"""The fault suite shares the wire suite's helpers and its two models."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wire"))

import cached_prompts  # noqa: E402
import serving  # noqa: E402
import tiny_model  # noqa: E402


def pytest_configure(config):
    if not pathlib.Path(serving.binary()).exists():
        raise pytest.UsageError(f"{serving.binary()}: no such program; build it or set HEARTH_BINARY")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return tiny_model.make(serving.starter_model(), tmp_path_factory.mktemp("models") / "tiny-chat")


@pytest.fixture(scope="module")
def server(tiny):
    with serving.Server(tiny) as running:
        yield running


@pytest.fixture(scope="session")
def right(tiny):
    """Answers to cached_prompts.PROMPTS, of a server without a cache."""
    with serving.Server(tiny, "--prompt-cache", 0) as running:
        return cached_prompts.answers(running)
