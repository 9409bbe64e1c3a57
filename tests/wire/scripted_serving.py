"""Runs scripted_server: the real server, templates, tokenizer and wires; the tokens are a script's.

    with Scripted([turn("It is sunny.", when="weather")]) as server:
        ...
        assert "weather" in server.prompts()[0]
"""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import httpx

import serving

HERMES = pathlib.Path(__file__).with_name("scripted") / "hermes.jinja"


def binary():
    """HEARTH_SCRIPTED_SERVER, which ctest sets; else beside the program under test."""
    given = os.environ.get("HEARTH_SCRIPTED_SERVER")
    return given or str(pathlib.Path(serving.binary()).parent / "tests" / "wire" / "scripted_server")


def turn(text="", **fields):
    """A turn of the script: when, unless, finish, delay_ms, token_delay_ms, times, refuse (script.h)."""
    return {"text": text, **fields}


def call(name, **arguments):
    """A tool call as a Hermes model writes it."""
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


class Scripted:
    """A running scripted_server, with the starter model's tokenizer and a Hermes template of our own.
    Unless any_model, a request for another model than "scripted" is a 404."""

    def __init__(self, turns, *flags, template=HERMES, folder=None, any_model=True):
        self.home = tempfile.TemporaryDirectory()
        home = pathlib.Path(self.home.name)
        self.log, self.record = (home / "log").open("w+"), home / "record.jsonl"
        (home / "script.json").write_text(json.dumps({"turns": turns}))
        command = [binary(), str(folder or serving.starter_model()), str(home / "script.json"),
                   "--record", str(self.record), "--id", "scripted"]
        if any_model:
            command += ["--any-model", "yes"]
        if template:
            command += ["--template", str(template)]
        self.process = subprocess.Popen(
            [*command, *map(str, flags)], stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            self.process.wait()
            raise AssertionError(f"scripted_server ended with {self.process.returncode}:\n{self.output()}")
        self.http = httpx.Client(base_url=self.url, timeout=60)

    def output(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def rows(self):
        """The record so far: {"turn", "prompt", ...} as a row begins, {"turn", "tokens", "cancelled"} as it ends."""
        return [json.loads(line) for line in self.record.read_text().splitlines()]

    def prompts(self):
        """What the model was asked, in order, with control tokens spelt out."""
        return [row["prompt"] for row in self.rows() if "prompt" in row]

    def ended(self, count, seconds=10):
        """Waits until `count` rows have ended; their records."""
        return serving.until(lambda: (ends := [r for r in self.rows() if "tokens" in r]) and len(ends) >= count and ends,
                             seconds, f"{count} ended rows")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        self.home.cleanup()
