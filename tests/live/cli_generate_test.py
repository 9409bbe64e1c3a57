"""One answer: what goes to stdout and to stderr, pipes, signals, known questions."""
import os
import pty
import signal
import subprocess
import time

QUESTION = "What is the capital of France?"


def test_the_capital_of_france(hearth, model):
    done = hearth("generate", "--model", model, "--prompt", QUESTION, "--max-tokens", "40")
    assert done.returncode == 0, done.stderr
    assert b"Paris" in done.stdout
    assert done.stderr == b""


def test_a_prompt_comes_by_flag_word_or_pipe_and_means_the_same(hearth, model):
    tail = ["--model", model, "--max-tokens", "12"]
    ways = [
        hearth("generate", "--prompt", QUESTION, *tail),
        hearth("gen", QUESTION, *tail),
        hearth("generate", model, QUESTION, "--max-tokens", "12"),
        hearth("generate", *tail, input=QUESTION.encode() + b"\n"),
        hearth("generate", *tail, input=QUESTION.encode() + b"\r\n"),
        hearth("generate", "-", *tail, input=QUESTION.encode()),
        hearth("generate", "--prompt=-", *tail, input=QUESTION.encode()),
        hearth("generate", *tail, "--", QUESTION),
    ]
    assert {done.returncode for done in ways} == {0}, [done.stderr for done in ways]
    assert len({done.stdout for done in ways}) == 1
    assert ways[0].stdout.count(b"\n") >= 1 and ways[0].stdout.endswith(b"\n")


def test_streamed_and_whole_text_are_the_same_bytes(hearth, model):
    args = ["generate", "--model", model, "--prompt", "Count from one to ten.", "--max-tokens", "60",
            "--temperature", "1", "--seed", "7"]
    whole, streamed = hearth(*args, "--stream", "off"), hearth(*args, "--stream", "on")
    assert whole.returncode == streamed.returncode == 0
    assert whole.stdout == streamed.stdout
    assert hearth(*args[:-1], "8").stdout != whole.stdout


def test_an_empty_prompt_is_an_error_and_not_a_hang(hearth, model):
    for done in (hearth("generate", "--model", model), hearth("generate", "--model", model, input=b"\n"),
                 hearth("generate", "--model", model, "--prompt", "")):
        assert done.returncode == 2
        assert b"the prompt is empty" in done.stderr
        assert done.stdout == b""


def test_odd_prompts_end_in_an_answer_or_one_line(hearth, model):
    for prompt in (b"a\0b", b"one\r\ntwo\r\n", "naïve 東京 👩🏽‍🚀".encode(), b"\xff\xfe"):
        done = hearth("generate", "--model", model, "--max-tokens", "4", input=prompt)
        if prompt == b"\xff\xfe":
            assert done.returncode == 2 and b"UTF-8" in done.stderr, done.stderr
            assert done.stderr.count(b"\n") == 1
        else:
            assert done.returncode == 0, done.stderr


def test_stop_ends_the_answer_before_the_text(hearth, model):
    args = ["generate", "--model", model, "--prompt", QUESTION, "--max-tokens", "40"]
    assert b"Paris" not in hearth(*args, "--stop", "Paris").stdout


def test_verbose_tells_speeds_on_stderr(hearth, model):
    done = hearth("generate", "--model", model, "--prompt", "Hi", "--max-tokens", "4", "--verbose")
    assert b"prompt tokens in" in done.stderr and b"Loaded" in done.stderr
    assert b"\x1b" not in done.stderr
    assert b"tokens in" not in done.stdout


def test_l1_answers_too(hearth, model):
    done = hearth("generate", "--model", model, "--prompt", QUESTION, "--max-tokens", "12", "--l1")
    assert done.returncode == 0 and b"Paris" in done.stdout, done.stderr


def test_a_closed_pipe_ends_quietly(hearth, model):
    process = hearth.start("generate", "--model", model, "--prompt", "Tell a long story.", "--stream", "on",
                           "--max-tokens", "2000")
    assert process.stdout.read(1)
    process.stdout.close()
    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == b""


def test_a_full_disk_is_told(hearth, model):
    with open("/dev/full", "wb") as full:
        process = hearth.start("generate", "--model", model, "--prompt", "Hi", "--max-tokens", "3", stdout=full)
        assert process.wait(timeout=60) == 1
    assert b"standard output" in process.stderr.read()


def test_a_signal_ends_it_with_its_number(hearth, model):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = hearth.start("generate", "--model", model, "--prompt", "Tell a long story.", "--stream", "on",
                               "--max-tokens", "4000")
        assert process.stdout.read(1)
        sent = time.monotonic()
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(timeout=10) == code
        assert time.monotonic() - sent < 5
        assert rest.endswith(b"\n")
        assert process.stderr.read() == b""


def test_at_a_terminal_text_streams_and_control_codes_stay_on_stderr(hearth, model):
    ours, theirs = pty.openpty()
    process = hearth.start("generate", "--model", model, "--prompt", "Tell a long story.", "--max-tokens", "120",
                           stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 4096):
            pieces.append(piece)
    except OSError:  # Linux says EIO when the other side has gone
        pass
    assert process.wait(timeout=30) == 0
    assert len(pieces) > 3  # not in one go at the end
    assert b"\x1b" not in b"".join(pieces)


def test_thinking_that_is_cut_off_is_told_and_not_printed_as_the_answer(hearth, model_copy):
    thinker = model_copy("chat_template.jinja")
    template = "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt and enable_thinking is not false %}<think>\n{% endif %}"
    (thinker / "chat_template.jinja").write_text(template)
    done = hearth("generate", "--model", thinker, "--prompt", "Name a river.", "--max-tokens", "5")
    assert done.stdout.strip() == b""
    assert b"still thinking" in done.stderr and b"--max-tokens" in done.stderr
