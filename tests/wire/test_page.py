"""The built-in chat page in a real browser."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import scripted_serving
import serving

pytestmark = pytest.mark.web


def chromium():
    """The browser: HEARTH_CHROMIUM or what the system calls it."""
    for name in (os.environ.get("HEARTH_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and shutil.which(name):
            return shutil.which(name)
    raise AssertionError("no Chromium: tools/setup --test installs it, or set HEARTH_CHROMIUM")


def in_browser(script, url, *more):
    """The JSON object that a script prints after it drove the page."""
    library = serving.ROOT / ".deps" / "browser" / "node_modules" / "playwright-core"
    run = subprocess.run(["node", script, url, library, chromium(), *more],
                         capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def seen(real_server, tmp_path_factory):
    """What page.mjs saw."""
    here = pathlib.Path(__file__).parent
    folder = pathlib.Path(os.environ.get("HEARTH_SCREENSHOTS") or tmp_path_factory.mktemp("page"))
    return in_browser(here / "page.mjs", real_server.url, folder)


def test_a_question_gets_its_answer_streamed(seen, real_server):
    assert seen["model"] == real_server.model
    assert "Paris" in seen["answer"]
    assert "tokens" in seen["notes"] and "Copy" in seen["notes"]
    assert len(set(seen["lengths"])) > 4, "the text grew on the page while it was written"


def test_escape_stops_an_answer(seen):
    assert 200 < seen["stopped"] < 20_000


def test_what_users_write_is_never_html(seen):
    assert "<b>a river</b> & <img src=x onerror=alert(1)>" in seen["question"]
    assert seen["images"] == 0


def test_errors_are_shown_and_the_question_comes_back(seen):
    assert "temperature" in seen["error"]
    assert seen["returned"] == "Is this refused?"


def test_markdown_becomes_elements_and_html_stays_text(seen):
    assert seen["markdown"] == (
        "<h3>Title</h3><p>A <strong>bold</strong> <code>code</code> &lt;b&gt;x&lt;/b&gt;</p>"
        "<ol start=\"1\"><li>one</li><li>two</li></ol><pre><code>let a = 1;</code></pre><p>end</p>")


def test_a_new_chat_is_empty_and_nothing_overflows_on_a_phone(seen):
    assert seen["afterNew"] == 0
    assert seen["overflow"] is False


def test_the_browser_had_no_complaint(seen):
    assert seen["problems"] == []


def test_thinking_is_folded_above_the_answer():
    text = "<think>\nIt is <b>north</b>.\n</think>\n\nNorth."
    with scripted_serving.Scripted([scripted_serving.turn(text)]) as server:
        seen = in_browser(pathlib.Path(__file__).with_name("page_thinking.mjs"), server.url)
    assert seen == {"folded": True, "thought": "It is <b>north</b>.", "answer": "North."}
