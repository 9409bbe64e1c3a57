"""Flags, config file and environment: what is refused, how, and that nothing is loaded before."""
import pytest


def refused(done, *words):
    """Exit code 2, nothing on stdout, the words on stderr, and no control codes."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == b""
    assert b"\x1b" not in done.stderr
    for word in words:
        assert word in done.stderr.decode(), done.stderr


@pytest.mark.parametrize("args, words", [
    (["serve", "--port", "65536"], ["--port", "65536", "0 to 65535"]),
    (["serve", "--port", "abc"], ["--port", "abc"]),
    (["serve", "--batch", "0"], ["--batch", "'0'"]),
    (["serve", "--batch", "1.5"], ["--batch", "1.5", "whole number"]),
    (["serve", "--temp", "6"], ["--temperature", "6", "0 to 5"]),
    (["serve", "--top-p", "2"], ["--top-p", "2", "0 to 1"]),
    (["serve", "--top-k", "-1"], ["--top-k", "-1"]),
    (["serve", "--max-tokens", "0"], ["--max-tokens"]),
    (["serve", "--device", "tpu"], ["--device", "tpu", "cuda"]),
    (["serve", "--thinking", "maybe"], ["--thinking", "maybe", "on, off"]),
    (["serve", "--l3"], ["--l3", "--l1"]),
    (["serve", "--context", "1"], ["--context", "'1'"]),
    (["serve", "--generation-checkpoint", "8"], ["--generation-checkpoint", "needs --ssd-cache"]),
    (["serve", "--ssd-cache", "x", "--generation-checkpoint", "0"], ["--generation-checkpoint", "'0'"]),
    (["serve", "--kv-quant", "3"], ["--kv-quant"]),
    (["serve", "--prot", "1"], ["--prot", "did you mean --port?"]),
    (["serve", "--port"], ["--port needs a value"]),
    (["serve", "a", "b"], ["takes no argument 'b'"]),
    (["--prot=1"], ["--prot", "--port"]),
    (["serve", "--min-p", "0.1"], ["--min-p", "request"]),
    (["serve", "--chat-template", "/no/such/file"], ["--chat-template", "/no/such/file"]),
    (["generate", "--seed", "-1", "x", "y"], ["--seed", "-1"]),
    (["generate", "--ignore-chat-template", "x", "y"], ["--raw"]),
    (["generate", "m", ""], ["the prompt is empty"]),
    (["bench", "--runs", "0"], ["--runs"]),
    (["ls", "--max-size", "big"], ["--max-size", "big", "10GB"]),
    (["completions", "tcsh"], ["tcsh", "bash, zsh, fish"]),
    (["help", "sevre"], ["sevre", "serve"]),
])
def test_a_bad_value_is_refused_before_anything_is_loaded(hearth, args, words):
    done = hearth(*args)
    refused(done, *words)
    assert done.stderr.count(b"\n") == 1, done.stderr  # one line
    assert not hearth.home.exists()  # nothing was written


def test_an_unknown_verb_names_the_nearest_and_shows_the_overview(hearth):
    done = hearth("genrate", "x")
    refused(done, "unknown verb genrate", "did you mean generate?", "Verbs:")


def test_every_verb_explains_itself(hearth):
    overview = hearth("help").stdout.decode()
    verbs = [line.split()[0].strip(",") for line in overview.splitlines() if line.startswith("  ")]
    assert len(verbs) >= 10
    for verb in verbs:
        for args in (["help", verb], [verb, "--help"], [verb, "-h"]):
            done = hearth(*args)
            assert done.returncode == 0
            assert done.stderr == b""
            assert done.stdout.startswith(f"Usage: hearth {verb}".encode())


def test_the_config_file_sets_defaults_and_says_where_it_is_wrong(hearth, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text("port = 1\n[serve]\nport = 70000\n")
    refused(hearth("serve", "--config", config), f"{config}, line 3", "port", "70000")
    config.write_text("a = 1\nb = = 2\n")
    refused(hearth("ls", "--config", config), f"{config}, line 2")
    refused(hearth("ls", "--config", tmp_path / "none.toml"), "none.toml")
    refused(hearth("ls", env={"HEARTH_CONFIG": str(tmp_path / "none.toml")}), "none.toml")


def test_an_unknown_key_is_a_warning(hearth, tmp_path):
    hearth.home.mkdir()
    (hearth.home / "config.toml").write_text("prot = 1\n[sevre]\nport = 2\n[serve]\nport = 3\n")
    done = hearth("ls")
    assert done.returncode == 0
    assert b"line 1: unknown key prot; did you mean port?" in done.stderr
    assert b"line 3: there is no verb sevre" in done.stderr
    assert done.stderr.count(b"warning") == 2


def test_a_flag_beats_the_environment_which_beats_the_file(hearth):
    hearth.home.mkdir()
    (hearth.home / "config.toml").write_text('device = "file"\n')
    refused(hearth("bench"), "config.toml, line 1", "'file'")
    refused(hearth("bench", env={"HEARTH_DEVICE": "variable"}), "HEARTH_DEVICE", "'variable'")
    refused(hearth("bench", "--device", "flag", env={"HEARTH_DEVICE": "variable"}), "--device", "'flag'")


def test_mlx_lm_names_pass_with_one_warning(hearth):
    done = hearth("serve", "--trust-remote-code", "--prefill-step-size", "512")
    assert done.returncode == 1  # there is no model
    assert done.stderr.count(b"--trust-remote-code is mlx-lm's and has no effect here") == 1
    assert done.stderr.count(b"--prefill-step-size") == 1


def test_colour_only_where_it_is_wanted(hearth):
    assert b"\x1b" not in hearth("generate", "none", "x").stderr
    assert b"\x1b[31m" in hearth("generate", "none", "x", env={"FORCE_COLOR": "1"}).stderr
    assert b"\x1b" not in hearth("generate", "none", "x", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stderr
