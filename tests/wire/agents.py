"""Coding agents as a user has them: programs on PATH, a home folder of their own, a project to work in."""
import os
import pathlib
import shutil
import subprocess

import pytest

import serving
import sessions
from serving import ROOT

QUESTION = "What is the magic word in notes.txt? Write it to answer.txt."
NOTES = "The magic word is xyzzy.\n"


def program(name):
    """Where a client's program is."""
    modules = sessions.clients() / "node_modules"
    found = {
        "claude": [*modules.glob("@anthropic-ai/claude-code-*/claude")], "codex": [modules / ".bin" / "codex"],
        "pi": [modules / ".bin" / "pi"], "opencode": [*modules.glob("opencode-*/bin/opencode")],
        "aider": [pathlib.Path(os.environ.get("HEARTH_AIDER") or ROOT / ".deps" / "aider" / "bin" / "aider")]}[name]
    for path in found:
        if path.exists():
            return path
    raise pytest.UsageError(f"no {name} in {modules} or .deps; tools/setup --test installs it")


class Home:
    """A user's home folder with the programs on PATH, and a project beside it."""

    def __init__(self, folder, names=("claude", "aider", "codex", "pi")):
        self.folder, self.bin, self.project = folder / "home", folder / "bin", folder / "project"
        for made in (self.folder, self.bin, self.project):
            made.mkdir()
        (self.project / "notes.txt").write_text(NOTES)
        for name in names:
            (self.bin / name).symlink_to(program(name))
        if sessions.node() != "node":
            (self.bin / "node").symlink_to(sessions.node())
        self.env = {
            "HOME": str(self.folder), "PATH": f"{self.bin}:{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "dumb",
            "HEARTH_HOME": str(self.folder / "hearth"),
            "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "DISABLE_AUTOUPDATER": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def hearth(self, *arguments, seconds=240, env=None):
        """Runs the program under test in the project; its CompletedProcess."""
        return self.run(serving.binary(), *arguments, seconds=seconds, env=env)

    def run(self, program, *arguments, seconds=240, env=None):
        """Runs a program of this user's PATH, or of a path, in the project."""
        env = {**self.env, **(env or {})}
        return subprocess.run(
            [shutil.which(program, path=env["PATH"]) or program, *map(str, arguments)], cwd=self.project, env=env,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)

    def files(self):
        """Every file and folder of the home but hearth's own: names to bytes, None for folders."""
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
                for path in self.folder.rglob("*") if "hearth" != path.relative_to(self.folder).parts[0]}
