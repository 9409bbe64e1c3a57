"""`hearth launch` and `hearth harness`: what they print, write and undo. The clients are stand-ins."""
import contextlib
import http.server
import json
import signal
import socket
import subprocess
import threading
import time

import pytest

import agents
import serving
from scripted_serving import Scripted, turn

CLIENTS = ["claude", "codex", "opencode", "aider", "pi"]
STAND_IN = """#!/bin/sh
printf '%s\\n' "$0" "$@"
env | grep -E '^(ANTHROPIC|OPENAI|OPENCODE|AIDER|HEARTH_URL|CLAUDE)' | sort
exit 7
"""


@pytest.fixture
def home(tmp_path):
    made = agents.Home(tmp_path, names=())
    for name in CLIENTS:
        (made.bin / name).write_text(STAND_IN)
        (made.bin / name).chmod(0o755)
    made.env["PATH"] = f"{made.bin}:/usr/bin:/bin"
    return made


@pytest.fixture(scope="module")
def server():
    with Scripted([turn("hello", times=0)]) as running:
        yield running


@pytest.mark.parametrize("client", CLIENTS)
def test_a_launch_starts_the_client_with_its_arguments_and_writes_nothing_of_its_own(home, server, client):
    before = home.files()
    done = home.hearth("launch", client, "--base-url", server.url, "--", "--fast", "two words")
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines()[0] == str(home.bin / client)
    assert "--fast\ntwo words\n" in done.stdout
    assert server.url in done.stdout or client == "pi"
    assert "scripted" in done.stdout or client == "pi", "the served model is named"
    assert home.files() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_set_up_for_good_and_undone_to_the_byte(home, server, client):
    (home.folder / ".aider.conf.yml").write_text("# mine\nmodel: gpt-4o  # good\nvim: true")
    (home.folder / ".claude").mkdir()
    (home.folder / ".claude" / "settings.json").write_text('{"env": {"A": "1"},\n\n  "theme":"dark"}')
    before = home.files()
    done = home.hearth("launch", client, "--base-url", server.url, "--config-only")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    changed = {name for name, text in home.files().items() if before.get(name) != text and text is not None}
    assert len(changed) == 1, changed
    text = (home.folder / changed.pop()).read_text()
    assert server.url in text and "scripted" in text
    again = home.hearth("launch", client, "--config-only", "--base-url", server.url)
    assert again.returncode == 0, again.stderr
    undone = home.hearth("launch", client, "--remove")
    assert undone.returncode == 0, undone.stderr
    assert home.files() == before
    nothing = home.hearth("launch", client, "--remove")
    assert nothing.returncode == 0 and "nothing to remove" in nothing.stderr


def test_an_edited_file_is_not_undone_unless_forced(home, server):
    settings = home.folder / ".claude" / "settings.json"
    assert home.hearth("launch", "claude", "--base-url", server.url, "--config-only").returncode == 0
    mine = {**json.loads(settings.read_text()), "theme": "dark"}
    settings.write_text(json.dumps(mine))
    refused = home.hearth("launch", "claude", "--remove")
    assert refused.returncode == 1 and "edited" in refused.stderr and "--force" in refused.stderr
    assert json.loads(settings.read_text()) == mine
    assert home.hearth("launch", "claude", "--remove", "--force").returncode == 0
    assert json.loads(settings.read_text()) == {"theme": "dark"}


@pytest.mark.parametrize("verb", ["launch", "harness"])
def test_an_unknown_client_is_refused_with_the_nearest_name(home, verb):
    done = home.hearth(verb, "cluade")
    assert done.returncode == 2
    assert "unknown client cluade; did you mean claude?" in done.stderr
    assert home.hearth(verb).returncode == 2


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_not_there_comes_with_its_install_command(home, client):
    (home.bin / client).unlink()
    home.env["PATH"] = str(home.bin)
    for arguments in (["launch", client], ["launch", client, "--config-only"]):
        done = home.hearth(*arguments)
        assert done.returncode == 1
        assert f"{client} is not on PATH" in done.stderr and "install" in done.stderr
    assert home.files() == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_print_shows_all_of_it_and_writes_nothing(home, server, client):
    done = home.hearth("launch", client, "--base-url", server.url, "--print")
    assert done.returncode == 0, done.stderr
    assert server.url in done.stdout and "scripted" in done.stdout and "--config-only" in done.stdout
    assert home.files() == {}


def test_flags_that_exclude_each_other_and_wrong_urls_are_usage_errors(home):
    for arguments in (["--print", "--remove"], ["--base-url", "ftp://x"], ["--base-url", "http://x:port"],
                      ["--print", "--", "word"], ["--nonsense"]):
        done = home.hearth("launch", "claude", *arguments)
        assert done.returncode == 2, (arguments, done.stderr)


def test_a_server_of_another_machine_or_that_wants_a_key_is_not_started(home):
    far = home.hearth("launch", "claude", "--base-url", "http://192.0.2.1:9", seconds=60)
    assert far.returncode == 1 and "192.0.2.1" in far.stderr
    with Scripted([], "--api-key", "secret") as locked:
        refused = home.hearth("launch", "claude", "--base-url", locked.url)
        assert refused.returncode == 1 and "--api-key" in refused.stderr
        let_in = home.hearth("launch", "claude", "--base-url", locked.url, env={"HEARTH_API_KEY": "secret"})
        assert let_in.returncode == 7 and "ANTHROPIC_AUTH_TOKEN=secret" in let_in.stdout


def test_a_server_is_started_for_the_client_and_ends_with_it(home, tiny):
    port = serving.free_port()
    url = f"http://127.0.0.1:{port}"
    (home.bin / "claude").write_text(
        f'#!/bin/sh\nexec {home.bin}/ask "$ANTHROPIC_BASE_URL"\n')
    (home.bin / "ask").write_text(
        "#!/usr/bin/env python3\nimport sys, urllib.request\n"
        "print(urllib.request.urlopen(sys.argv[1] + '/v1/models').read().decode())\n")
    (home.bin / "ask").chmod(0o755)
    done = home.hearth("launch", "claude", "--base-url", url, "--model", tiny)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"][0]["id"] == "tiny-chat"
    assert "Starting" in done.stderr or "serves tiny-chat" in done.stderr
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=2).close()


def test_a_server_that_still_loads_is_waited_for(home):
    class Slow(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            time.sleep(3)
            body = json.dumps({"data": [{"id": "slow-model", "context_window": 4096}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # the first asker has left by now
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as slow:
        threading.Thread(target=slow.serve_forever, daemon=True).start()
        done = home.hearth("launch", "claude", "--base-url", f"http://127.0.0.1:{slow.server_port}")
        slow.shutdown()
    assert done.returncode == 7 and "ANTHROPIC_MODEL=slow-model" in done.stdout, done.stderr
    assert "serves slow-model" in done.stderr


def test_a_server_that_cannot_start_says_why(home):
    done = home.hearth("launch", "claude", "--base-url", f"http://127.0.0.1:{serving.free_port()}",
                       "--model", "no-such-model")
    assert done.returncode == 1
    assert "did not start" in done.stderr and "no-such-model" in done.stderr


def test_harness_pi_writes_one_extension_and_removes_just_that(home, server):
    extension = home.folder / ".pi" / "agent" / "extensions" / "hearth-provider.ts"
    extension.parent.mkdir(parents=True)
    (extension.parent / "other.ts").write_text("export default () => {}\n")
    before = home.files()
    done = home.hearth("harness", "pi", "--base-url", server.url + "/v1")
    assert done.returncode == 0 and str(extension) in done.stderr
    text = extension.read_text()
    assert text.startswith("// written by hearth") and server.url in text and "scripted" in text
    assert 'registerProvider("hearth"' in text
    removed = home.hearth("harness", "pi", "--remove")
    assert removed.returncode == 0 and "removed" in removed.stderr
    assert home.files() == before
    nothing = home.hearth("harness", "pi", "--remove")
    assert nothing.returncode == 0 and "nothing to remove" in nothing.stderr
    extension.write_text("export default 1\n")
    foreign = home.hearth("harness", "pi")
    assert foreign.returncode == 1 and "--force" in foreign.stderr
    assert extension.read_text() == "export default 1\n"


@pytest.mark.parametrize("client, named", [("claude", "ANTHROPIC_BASE_URL"), ("codex", "wire_api"),
                                           ("aider", "OPENAI_API_BASE"), ("open-webui", "OPENAI_API_BASE_URL")])
def test_harness_of_the_others_prints_and_writes_nothing(home, server, client, named):
    done = home.hearth("harness", client, "--base-url", server.url)
    assert done.returncode == 0 and named in done.stdout and server.url in done.stdout
    assert home.files() == {} and not (home.folder / "hearth" / "state").exists()


def test_a_client_that_is_ended_by_a_signal_or_by_ours(home, server):
    (home.bin / "claude").write_text("#!/bin/sh\nkill -TERM $$\n")
    assert home.hearth("launch", "claude", "--base-url", server.url).returncode == 128 + 15
    (home.bin / "claude").write_text("#!/bin/sh\necho started\nexec sleep 60\n")
    child = subprocess.Popen([serving.binary(), "launch", "claude", "--base-url", server.url], env=home.env,
                             stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    assert child.stdout.readline() == "started\n"
    start = time.monotonic()
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 128 + 15 and time.monotonic() - start < 15
    child.stdout.close()
