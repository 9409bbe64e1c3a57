"""The conversation: at a pseudo-terminal, and with lines from a pipe."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pytest

PROMPT = b">>> "


class Talk:
    """`hearth chat` at a pseudo-terminal."""

    def __init__(self, hearth, *args):
        self.ours, theirs = pty.openpty()
        # So wide that no line wraps: a wrapped one is drawn anew, prompt and all.
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 500, 0, 0))
        self.process = hearth.start("chat", *args, stdin=theirs, stdout=theirs, stderr=theirs,
                                    start_new_session=True, preexec_fn=lambda: self.take_terminal(theirs))
        os.close(theirs)
        self.seen = b""
        self.read_to = 0  # up to here the text has been asked for

    @staticmethod
    def take_terminal(fd):
        fcntl.ioctl(fd, termios.TIOCSCTTY, 0)

    def read_until(self, pattern, seconds=60):
        """The text from the end of the last one up to the pattern."""
        start, end = self.read_to, time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen[start:])):
            ready, _, _ = select.select([self.ours], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {pattern!r} after {seconds} s in {self.seen[start:]!r}"
            try:
                piece = os.read(self.ours, 4096)
            except OSError:
                piece = b""
            assert piece, f"ended without {pattern!r}: {self.seen[start:]!r}"
            self.seen += piece
        self.read_to = start + found.end()
        return self.seen[start:self.read_to]

    def type(self, text):
        time.sleep(0.1)  # the prompt is written a moment before its keys are read
        os.write(self.ours, text)

    def ask(self, text):
        """The answer to a line, without the echo of the line."""
        self.type(text + b"\r")
        self.read_until(re.escape(text[-8:]) + b"[^\n]*\n")
        return self.read_until(re.escape(PROMPT) + b"$")

    def end(self, keys=b"\x04"):
        self.type(keys)
        return self.process.wait(timeout=20)


@pytest.fixture
def talk(hearth, model):
    talks = []

    def start(*args):
        one = Talk(hearth, "--model", model, "--temperature", "0", "--max-tokens", "60", *args)
        talks.append(one)
        one.read_until(re.escape(PROMPT) + b"$")
        return one

    yield start
    for one in talks:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        os.close(one.ours)


def test_the_capital_of_france_and_out_by_ctrl_d(talk):
    chat = talk()
    assert b"Paris" in chat.ask(b"What is the capital of France?")
    assert chat.end() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(talk):
    chat = talk("--max-tokens", "4000")
    chat.type(b"Write a very long story about the sea.\r")
    chat.read_until(rb"sea\.\s+\S+ \S+ \S+")
    asked = time.monotonic()
    chat.type(b"\x03")
    chat.read_until(re.escape(PROMPT) + b"$", seconds=10)
    assert time.monotonic() - asked < 5
    assert b"Paris" in chat.ask(b"What is the capital of France? Answer in one word.")
    assert chat.end(b"/exit\r") == 0


def test_ctrl_c_at_the_prompt_gives_the_line_up(talk):
    chat = talk()
    chat.type(b"half a line")
    chat.read_until(b"half a line")
    chat.type(b"\x03")
    chat.read_until(re.escape(PROMPT) + b"$")
    assert b"/clear" in chat.ask(b"/help")
    assert chat.end() == 0


def test_lines_are_edited_and_remembered(talk, hearth):
    chat = talk()
    chat.type(b"/hepl\x7f\x7flp\r")  # typed wrong, rubbed out
    assert b"/clear" in chat.read_until(re.escape(PROMPT) + b"$")
    assert chat.end() == 0
    history = hearth.home / "chat_history"
    assert "/help" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0
    again = talk()
    again.type(b"\x1b[A\r")  # up: the last line of the other run
    assert b"/clear" in again.read_until(re.escape(PROMPT) + b"$")


def test_a_message_of_several_lines(talk):
    chat = talk()
    chat.type(b'"""What is the capital\r')
    chat.read_until(rb"\.\.\. $")
    chat.type(b'of France?"""\r')
    assert b"Paris" in chat.read_until(re.escape(PROMPT) + b"$")


def test_a_conversation_is_saved_and_goes_on(talk, tmp_path):
    chat = talk()
    chat.ask(b"/system You are a helpful assistant.")
    chat.ask(b"What is the capital of France?")
    file = tmp_path / "talk.json"
    assert b"Saved 2 messages" in chat.ask(b"/save " + str(file).encode())
    saved = json.loads(file.read_text())
    assert [m["role"] for m in saved["messages"]] == ["system", "user", "assistant"]
    assert "Paris" in saved["messages"][2]["content"]
    assert b"forgotten" in chat.ask(b"/clear")
    assert b"2 messages" in chat.ask(b"/load " + str(file).encode())
    assert b"You are a helpful assistant." in chat.ask(b"/system")


def test_sigterm_ends_it_and_leaves_the_terminal_as_it_was(talk):
    chat = talk()
    chat.process.send_signal(signal.SIGTERM)
    assert chat.process.wait(timeout=10) == 143
    assert termios.tcgetattr(chat.ours)[3] & termios.ECHO


def test_lines_of_a_pipe_are_messages(hearth, model):
    done = hearth("chat", "--model", model, "--temperature", "0", "--max-tokens", "30",
                  input=b"What is the capital of France?\n/clear\nSay ok.\n")
    assert done.returncode == 0, done.stderr
    assert b"Paris" in done.stdout
    assert PROMPT not in done.stdout and b"\x1b" not in done.stdout + done.stderr
    assert done.stderr == b"The conversation is forgotten.\n"


def test_one_message_too_long_fails_and_the_next_is_answered(hearth, model):
    done = hearth("chat", "--model", model, "--temperature", "0", "--max-tokens", "30",
                  input=b"word " * 40000 + b"\nWhat is the capital of France?\n")
    assert done.returncode == 1
    assert b"/clear starts afresh" in done.stderr
    assert b"Paris" in done.stdout
