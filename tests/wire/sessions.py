"""The session that every client runs: chat, a stream, a tool loop of two steps, a schema, a cancelled song.

The model's side of it is this script; what the client must make of it is below each part.
"""
import functools
import json
import os
import pathlib
import subprocess

import pytest

from scripted_serving import call, turn
from serving import ROOT

CHAT = "Say hello."
HELLO = "Hello there, dear client."
STREAM = "Count to five."
COUNT = "one, two, three, four, five"
TOOLS = "Where is it warmer, in Paris or in Oslo?"
DEGREES = {"Paris": "18 degrees", "Oslo": "5 degrees"}
WARMER = "It is warmer in Paris: 18 against 5 degrees."
SCHEMA = "Tell me of Paris as JSON."
FACTS = {"city": "Paris", "degrees": 18}
SONG = "Sing a long song."

WEATHER = {
    "type": "object", "properties": {"city": {"type": "string", "description": "where"}},
    "required": ["city"], "additionalProperties": False}
FACTS_SCHEMA = {
    "type": "object", "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"], "additionalProperties": False}

TURNS = [
    turn(HELLO, when=CHAT, times=0),
    turn(COUNT, when=STREAM, times=0, token_delay_ms=2),
    turn(WARMER, when=[TOOLS, DEGREES["Paris"], DEGREES["Oslo"]], times=0),
    turn(call("weather", city="Oslo"), when=[TOOLS, DEGREES["Paris"]], times=0),
    turn("I shall ask." + call("weather", city="Paris"), when=TOOLS, times=0),
    turn(json.dumps(FACTS), when=SCHEMA, times=0),
    turn("la la " * 3000, when=SONG, times=0, token_delay_ms=3),
]


def check_tool_prompts(server):
    """The model saw the tool, then one result, then both, each in its own turn."""
    prompts = [p for p in server.prompts() if TOOLS in p]
    assert len(prompts) == 3
    first, second, third = prompts
    assert '"weather"' in first and "18 degrees" not in first
    assert "<tool_response>\n18 degrees\n</tool_response>" in second and "5 degrees\n<" not in second
    assert third.count("<tool_response>") == 2
    assert second.count("<tool_call>\n{") == first.count("<tool_call>\n{") + 1, "its own call is told back to it"


def check_cancelled(server):
    """The song's row has ended, long before its end."""
    rows = server.ended(len([r for r in server.rows() if "prompt" in r]))
    assert rows[-1]["cancelled"] and rows[-1]["tokens"] < 3000


@functools.cache
def clients():
    """Folder with the Node clients and the agents: HEARTH_CLIENTS, else what tools/setup --test made."""
    folder = pathlib.Path(os.environ.get("HEARTH_CLIENTS") or ROOT / ".deps" / "clients")
    if not (folder / "node_modules").is_dir():
        raise pytest.UsageError(f"{folder}: no Node clients; tools/setup --test installs them")
    return folder


@functools.cache
def node():
    """The Node.js that came with the clients, else the system's."""
    for platform in ("x64", "arm64"):
        own = clients() / "node_modules" / f"node-linux-{platform}" / "bin" / "node"
        if own.exists():
            return str(own)
    return "node"


def run_node(script, *arguments, seconds=120):
    """The JSON that a script of tests/wire/clients prints."""
    done = subprocess.run(
        [node(), str(pathlib.Path(__file__).with_name("clients") / script), *map(str, arguments)],
        env={**os.environ, "HEARTH_CLIENTS": str(clients())}, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)
