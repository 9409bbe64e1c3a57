"""bench, doctor, version, help, completions."""
import json
import os
import shutil
import subprocess

import pytest


def test_version(hearth):
    plain = hearth("version")
    assert plain.stdout.startswith(b"hearth ") and plain.stdout.count(b"\n") == 1
    assert plain.stdout == hearth("--version").stdout == hearth("-v").stdout
    told = json.loads(hearth("version", "--json").stdout)
    assert plain.stdout.decode().strip() == "hearth " + told["version"]
    assert told["mlx_version"].count(".") == 2
    assert {"commit", "backend", "device"} <= told.keys()


def test_doctor_finds_all_well_or_says_what_is_not(hearth, tmp_path):
    done = hearth("doctor", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["ok"], told["checks"]
    assert told["mlx"]["version"] == told["mlx"]["pinned"]
    assert "libmlx" in told["mlx"]["library"]
    assert told["threads"] >= 1 and told["memory_bytes"] > 1 << 28 and told["simd"]
    assert {"llama", "qwen2", "qwen3", "gemma3_text"} <= set(told["model_types"])
    assert {folder["name"] for folder in told["folders"]} >= {"config", "data", "state", "cache", "hub cache"}
    assert told["libraries"]["SQLite"].startswith("3.")
    text = hearth("doctor").stdout.decode()
    assert told["mlx"]["version"] in text and "FAULT" not in text

    (tmp_path / "file").write_text("x")
    broken = hearth("doctor", "--json", env={"HEARTH_HOME": str(tmp_path / "file")})
    assert broken.returncode == 1
    faults = [check for check in json.loads(broken.stdout)["checks"] if not check["ok"]]
    assert any(str(tmp_path / "file") in fault["detail"] for fault in faults)


def test_bench_measures(hearth, model):
    args = ["bench", "--model", model, "--tokens", "8", "--prompt-tokens", "16", "--runs", "2"]
    done = hearth(*args, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["tier"], told["prompt_tokens"], told["tokens"], told["runs"]) == ("fast", 16, 8, 2)
    for key in ("prefill_tps", "decode_tps", "ttft_ms"):
        assert 0 < told[key]["min"] <= told[key]["median"] <= told[key]["max"]
    assert told["peak_memory_bytes"] > os.path.getsize(os.path.join(model, "model.safetensors")) / 2
    assert told["load_seconds"] > 0
    text = hearth(*args, "--l1").stdout.decode()
    assert "tier l1" in text and "decode, tokens/s" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_name_every_verb_and_flag(hearth, shell):
    script = hearth("completions", shell).stdout.decode()
    for word in ("generate", "serve", "doctor", "max-tokens", "no-open"):
        assert word in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script.encode(), check=True)


def test_bash_completes(hearth, tmp_path):
    script = hearth("completions", "bash").stdout.decode()
    ask = script + """
complete_line() { COMP_WORDS=($1 "$2"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _hearth; echo "${COMPREPLY[@]}"; }
complete_line "hearth" "gen"
complete_line "hearth serve" "--por"
complete_line "hearth chat --log-level" "w"
"""
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["generate", "--port", "warn"]
