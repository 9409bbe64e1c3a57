"""What every test of the command line has: the program, the model, folders of its own."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TMPDIR")


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("HEARTH_BINARY")
    assert path, "HEARTH_BINARY must name the program; ctest sets it"
    assert os.access(path, os.X_OK), f"{path} is no program"
    return str(pathlib.Path(path).resolve())


@pytest.fixture(scope="session")
def model():
    path = os.environ.get("HEARTH_TEST_MODEL")
    if not path:
        made = subprocess.run([ROOT / "tools/starter-model"], stdout=subprocess.PIPE, text=True, check=True)
        path = made.stdout.strip()
    assert (pathlib.Path(path) / "config.json").exists(), f"{path} holds no model"
    return path


class Hearth:
    """The program with an environment of its own."""

    def __init__(self, binary, home):
        self.binary = binary
        self.home = home
        self.hub = home / "hub"
        self.env = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
        self.env |= {"HEARTH_HOME": str(home), "HF_HUB_CACHE": str(self.hub), "TERM": "xterm"}

    def __call__(self, *args, input=None, env=(), timeout=120):
        """Runs to the end. Without `input`, standard input is closed."""
        return subprocess.run([self.binary, *map(str, args)], input=input,
                              stdin=None if input is not None else subprocess.DEVNULL,
                              capture_output=True, env=self.env | dict(env), timeout=timeout)

    def start(self, *args, env=(), **kwargs):
        kwargs = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                  "stderr": subprocess.PIPE} | kwargs
        return subprocess.Popen([self.binary, *map(str, args)], env=self.env | dict(env), **kwargs)


@pytest.fixture
def hearth(binary, tmp_path):
    return Hearth(binary, tmp_path / "home")


@pytest.fixture
def model_copy(model, tmp_path):
    """A function that makes a folder with the model's files, as links, without those named."""

    def make(*without, at=None):
        folder = at or tmp_path / "copy"
        folder.mkdir(parents=True)
        for file in pathlib.Path(model).iterdir():
            if file.name not in without:
                (folder / file.name).symlink_to(file)
        return folder

    yield make
    shutil.rmtree(tmp_path / "copy", ignore_errors=True)
