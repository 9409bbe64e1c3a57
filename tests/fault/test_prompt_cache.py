"""The prompt cache's files under a sudden end, damage, a full disk and folders that cannot be used: the server
starts, answers are right, no bad block is used. HEARTH_CACHE_KILLS sets how often it is killed."""
import contextlib
import os
import random
import signal
import threading

import httpx

import serving
from cached_prompts import PROMPTS, answers, ask, flush
from serving import cached, text_of


def blocks(folder):
    return sorted(folder.rglob("*.hkv"))


def test_killed_at_any_moment_it_starts_again_and_answers_right(tiny, right, tmp_path):
    random.seed(7)
    for round_ in range(int(os.environ.get("HEARTH_CACHE_KILLS", "4"))):
        with serving.Server(tiny, "--ssd-cache", tmp_path) as server:
            killer = threading.Timer(random.uniform(0.02, 0.5), server.process.send_signal, [signal.SIGKILL])
            killer.start()
            with contextlib.suppress(httpx.HTTPError):
                for i, prompt in enumerate(PROMPTS):
                    assert text_of(ask(server, prompt)) == right[i], f"round {round_}"
                server.http.post("/admin/cache/flush")
            killer.join()
        if round_ % 2:  # makes the next round write again
            for path in random.sample(blocks(tmp_path), len(blocks(tmp_path)) // 2):
                path.unlink()
    with serving.Server(tiny, "--ssd-cache", tmp_path) as server:
        assert answers(server) == right
        assert server.http.get("/stats").json()["ssd_cache"]["bad_files"] == 0
        assert flush(server)
        assert server.stop() == 0
    assert not list(tmp_path.rglob("*.tmp-*"))
    with serving.Server(tiny, "--ssd-cache", tmp_path) as server:
        assert all(cached(ask(server, prompt)) > 300 for prompt in PROMPTS)


def test_damaged_files_are_never_used(tiny, right, tmp_path):
    with serving.Server(tiny, "--ssd-cache", tmp_path) as server:
        for prompt in PROMPTS:
            ask(server, prompt)
        assert flush(server)
        assert server.stop() == 0
    random.seed(3)
    found = blocks(tmp_path)
    for path in found:
        data = bytearray(path.read_bytes())
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        path.write_bytes(data if random.random() < 0.8 else data[:at])
    with serving.Server(tiny, "--ssd-cache", tmp_path) as server:
        for i, prompt in enumerate(PROMPTS):
            answer = ask(server, prompt)
            assert text_of(answer) == right[i] and cached(answer) == 0
        assert server.http.get("/stats").json()["ssd_cache"]["bad_files"] > 0
        assert flush(server)
    with serving.Server(tiny, "--ssd-cache", tmp_path, "--ssd-cache-verify") as server:
        serving.until(lambda: server.http.get("/stats").json()["ssd_cache"]["entries"] > 0, 5, "files")
        assert answers(server) == right


def test_a_full_disk_is_told_once_and_done_without(tiny, right, tmp_path, monkeypatch):
    # Files end at 24 KiB, as those of a full disk would: no write beyond succeeds.
    launcher = tmp_path / "limited"
    launcher.write_text(f"#!/bin/bash\ntrap '' XFSZ\nulimit -f 24\nexec {serving.binary()} \"$@\"\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("HEARTH_BINARY", str(launcher))
    folder = tmp_path / "cache"
    with serving.Server(tiny, "--ssd-cache", folder) as server:
        assert answers(server) == right
        assert cached(ask(server, PROMPTS[0])) > 300  # from memory
        flushed = server.http.post("/admin/cache/flush")
        assert flushed.status_code == 503 and not flushed.json()["durable"]
        assert flushed.json()["failedSpills"] > 0
        assert server.output().count("prompts are kept in memory only") == 1
        assert server.stop() == 0
    assert not list(folder.rglob("*.tmp-*"))


def test_a_folder_that_cannot_be_used_is_told_and_done_without(tiny, right, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with serving.Server(tiny, "--ssd-cache", tmp_path / "file" / "cache") as server:
        assert answers(server) == right
        assert cached(ask(server, PROMPTS[0])) > 300
        assert server.output().count("prompts are kept in memory only") == 1
        assert server.http.post("/admin/cache/flush").status_code == 503
        assert server.stop() == 0


def test_the_cap_holds_while_clients_come_and_leave(tiny):
    """Unrelated prompts, a third of them given up half way: the cache stays under its cap and memory levels off."""
    def footprint():
        status = open(f"/proc/{server.process.pid}/status", encoding="utf-8").read()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    cap = 4 << 20
    with serving.Server(tiny, "--prompt-cache", f"{cap}B") as server:
        rounds, early = 45, 0
        for i in range(rounds):
            words = " ".join(str((i + 1) * n) for n in range(1, 300))
            body = serving.chat_body(words, temperature=0, max_tokens=300 if i % 3 == 0 else 4)
            if i % 3 == 0:
                with server.http.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as response:
                    next(response.iter_lines())
            else:
                assert server.http.post("/v1/chat/completions", json=body).status_code == 200
            stats = server.http.get("/stats").json()["prompt_cache"]
            assert stats["bytes"] <= cap
            if i == rounds // 3:
                early = footprint()
        assert stats["evicted"] > 0
        assert footprint() - early < 30 << 20
