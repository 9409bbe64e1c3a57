"""Coding agents, started by `hearth launch`, work on a project with the real server and a scripted model."""
import functools
import json

import pytest

import agents
from agents import NOTES, QUESTION
from scripted_serving import Scripted as AnyScripted
from scripted_serving import call, turn

CONTEXT = ("--context", 200000)
Scripted = functools.partial(AnyScripted, any_model=False)  # the set-up must name the model everywhere


@pytest.fixture
def home(tmp_path):
    return agents.Home(tmp_path)


def launch(home, server, client, *arguments):
    done = home.hearth("launch", client, "--base-url", server.url, "--", *arguments)
    assert done.returncode == 0, (
        f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}\n{[p[-600:] for p in server.prompts()]}")
    return done.stdout


def check_two_steps(home, server):
    """The file was read, then the answer written, each result told to the model."""
    assert (home.project / "answer.txt").read_text().strip() == "xyzzy"
    prompts = [p for p in server.prompts() if QUESTION in p]
    assert any(NOTES.strip() in p for p in prompts), "the model was told what the file says"
    assert prompts[-1].count("<tool_response>") >= 2


def test_claude_code(home):
    notes, answer = home.project / "notes.txt", home.project / "answer.txt"
    turns = [
        turn("The magic word is xyzzy.", when=[QUESTION, '"name": "Write"', "xyzzy", str(answer) + '", "content'], times=0),
        turn(call("Write", file_path=str(answer), content="xyzzy\n"), when=[QUESTION, '"name": "Read"', "xyzzy"]),
        turn("I shall look." + call("Read", file_path=str(notes)), when=[QUESTION, '"name": "Read"']),
        turn("fine", times=0),  # titles and the like
    ]
    with Scripted(turns, *CONTEXT) as server:
        told = launch(home, server, "claude", "-p", QUESTION, "--allowedTools", "Read,Write",
                      "--output-format", "json", "--max-turns", "8")
        check_two_steps(home, server)
    result = json.loads(told)
    assert result["result"] == "The magic word is xyzzy." and not result["is_error"]
    assert result["num_turns"] >= 3 and result["usage"]["output_tokens"] > 0


def test_pi(home):
    turns = [
        turn("The magic word is xyzzy.", when=[QUESTION, "xyzzy", "answer.txt\", \"content"], times=0),
        turn(call("write", path="answer.txt", content="xyzzy\n"), when=[QUESTION, "xyzzy"]),
        turn(call("read", path="notes.txt"), when=QUESTION),
    ]
    with Scripted(turns, *CONTEXT) as server:
        told = launch(home, server, "pi", "-p", QUESTION)
        check_two_steps(home, server)
    assert told.strip() == "The magic word is xyzzy."


def test_codex(home):
    turns = [
        turn("The magic word is xyzzy.", when=[QUESTION, "xyzzy", "> answer.txt"], times=0),
        turn(call("exec_command", cmd="echo xyzzy > answer.txt"), when=[QUESTION, "xyzzy"]),
        turn(call("exec_command", cmd="cat notes.txt"), when=QUESTION),
        turn("fine", times=0),
    ]
    with Scripted(turns, *CONTEXT) as server:
        told = launch(home, server, "codex", "exec", "--skip-git-repo-check",
                      "--dangerously-bypass-approvals-and-sandbox", QUESTION)
        check_two_steps(home, server)
    assert "The magic word is xyzzy." in told


def test_opencode(tmp_path):
    home = agents.Home(tmp_path, names=("opencode",))
    notes, answer = home.project / "notes.txt", home.project / "answer.txt"
    turns = [
        turn("A magic word", when="title", times=0),
        turn("The magic word is xyzzy.", when=[QUESTION, "xyzzy", str(answer) + '", "content'], times=0),
        turn(call("write", filePath=str(answer), content="xyzzy\n"), when=[QUESTION, "xyzzy"]),
        turn("I shall look." + call("read", filePath=str(notes)), when=QUESTION),
    ]
    with Scripted(turns, *CONTEXT) as server:
        told = launch(home, server, "opencode", "run", QUESTION)
        check_two_steps(home, server)
    assert "The magic word is xyzzy." in told


def test_aider_makes_one_edit(home):
    (home.project / "hello.py").write_text('print("hello")\n')
    caches = home.folder / ".aider" / "caches"
    caches.mkdir(parents=True)
    (caches / "model_prices_and_context_window.json").write_text('{"none": {}}')  # else it is looked for outside
    edit = ('The greeting is wider now.\n\nhello.py\n<<<<<<< SEARCH\nprint("hello")\n=======\n'
            'print("hello, world")\n>>>>>>> REPLACE\n')
    with Scripted([turn(edit, when="Greet the world.")], *CONTEXT) as server:
        told = launch(home, server, "aider", "--message", "Greet the world.", "--yes-always", "--no-git",
                      "--no-check-update", "--no-show-release-notes", "--analytics-disable", "--no-pretty",
                      "--edit-format", "diff", "hello.py")
    assert "The greeting is wider now." in told
    assert (home.project / "hello.py").read_text() == 'print("hello, world")\n'


ALONE = {
    "claude": ["claude", "-p", "Say hello."],
    "codex": ["codex", "--profile", "hearth", "exec", "--skip-git-repo-check", "Say hello."],
    "opencode": ["opencode", "run", "Say hello."],
    "pi": ["pi", "-p", "--model", "hearth/local", "Say hello."],
}


@pytest.mark.parametrize("client", ALONE)
def test_a_client_that_is_set_up_for_good_finds_the_server_by_itself(tmp_path, client):
    home = agents.Home(tmp_path, names=(client,))
    before = home.files()
    with Scripted([turn("Hello from the script.", times=0)], *CONTEXT) as server:
        set_up = home.hearth("launch", client, "--base-url", server.url, "--config-only")
        assert set_up.returncode == 0, set_up.stderr
        done = home.run(*ALONE[client])
        assert done.returncode == 0, done.stderr[-2000:]
        assert "Hello from the script." in done.stdout
    removed = home.hearth("launch", client, "--remove")
    assert removed.returncode == 0, removed.stderr
    assert not [name for name, text in home.files().items() if text and server.url.encode() in text]
    assert set(before) <= set(home.files())


def test_aider_reads_the_file_that_sets_it_up(home):
    set_up = home.hearth("launch", "aider", "--base-url", "http://127.0.0.1:9", "--config-only")
    assert set_up.returncode == 0, set_up.stderr
    done = home.run("aider", "--exit", "--no-git", "--no-check-update", "--analytics-disable", "--no-pretty")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Model: openai/local" in done.stdout
    assert "127.0.0.1:9" in (home.folder / ".aider.conf.yml").read_text()


def test_pi_knows_the_model_while_the_server_is_down_and_what_is_served_when_it_is_up(home):
    assert home.hearth("harness", "pi", "--base-url", "http://127.0.0.1:9").returncode == 0
    down = home.run("pi", "--list-models", "hearth")
    assert "local" in down.stdout and "32.8K" in down.stdout.upper(), down.stdout
    with Scripted([turn("hello", times=0)], *CONTEXT) as server:
        up = home.run("pi", "--list-models", "hearth", env={"HEARTH_URL": server.url})
    assert "200K" in up.stdout.upper(), up.stdout
