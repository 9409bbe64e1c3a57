"""Fixtures of the wire suite: the program, serving a random tiny model and the real starter model."""
import pathlib

import pytest

import serving
import tiny_model


def pytest_configure(config):
    config.addinivalue_line("markers", "web: needs a browser")
    if not pathlib.Path(serving.binary()).exists():
        raise pytest.UsageError(f"{serving.binary()}: no such program; build it or set HEARTH_BINARY")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Folder of the random model, named tiny-chat."""
    return tiny_model.make(serving.starter_model(), tmp_path_factory.mktemp("models") / "tiny-chat")


@pytest.fixture(scope="session")
def server(tiny):
    """The random model, 16 rows at once."""
    with serving.Server(tiny, "--batch", 16, "--allowed-origins", "https://app.example", "--any-model") as running:
        yield running


@pytest.fixture(scope="session")
def l1_server(tiny):
    with serving.Server(tiny, "--batch", 16, "--l1", "--any-model") as running:
        yield running


@pytest.fixture(scope="session")
def real_server():
    """The starter model."""
    with serving.Server(serving.starter_model(), "--batch", 16, "--any-model") as running:
        yield running
