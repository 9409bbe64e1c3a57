"""The prompt cache's files on a disk that is really full, and in a folder that may only be read: the server starts,
answers are right, it is told once and in the statistics."""
import os

import pytest

import serving
import small_disk
from cached_prompts import PROMPTS, answers, ask, flush
from serving import cached

TOLD = "prompts are kept in memory only"


def disk_stats(server):
    return server.http.get("/stats").json()["ssd_cache"]


@pytest.fixture
def disk(tmp_path, monkeypatch):
    made = small_disk.SmallDisk(tmp_path / "disk", kilobytes=256)
    monkeypatch.setenv("HEARTH_BINARY", str(made.launcher))
    yield made
    made.close()


def test_a_disk_that_fills_up_is_told_once_and_done_without(tiny, right, disk):
    with serving.Server(tiny, "--ssd-cache", disk.folder) as server:
        assert answers(server) == right
        assert not flush(server)
        stats = disk_stats(server)
        assert stats["spills"] > 0 and stats["failed_spills"] > 0 and stats["bytes"] < 256 << 10
        assert answers(server) == right
        assert "No space left on device" in server.output() and server.output().count(TOLD) == 1
        assert server.stop() == 0
    assert not list(disk.seen.rglob("*.tmp-*")), "nothing unfinished takes what space there is"


def test_a_server_starts_on_a_full_disk_and_reads_what_is_there(tiny, right, disk):
    with serving.Server(tiny, "--ssd-cache", disk.folder) as server:
        assert answers(server, PROMPTS[:1]) == right[:1] and flush(server)
        assert server.stop() == 0
    disk.fill()
    assert disk.free() == 0
    with serving.Server(tiny, "--ssd-cache", disk.folder) as server:
        assert answers(server) == right
        stats = disk_stats(server)
        assert stats["entries"] > 0 and stats["restores"] == 1 and stats["bad_files"] == 0
        assert not flush(server) and disk_stats(server)["failed_spills"] > 0
        assert server.output().count(TOLD) == 1
        assert server.stop() == 0
    assert not list(disk.seen.rglob("*.broken")), "an index that has no room is not a broken one"
    (disk.seen / "ballast").unlink()
    with serving.Server(tiny, "--ssd-cache", disk.folder) as server:
        assert answers(server, PROMPTS[:1]) == right[:1]
        assert disk_stats(server)["restores"] == 1 and TOLD not in server.output()


def read_only(folder):
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)


@pytest.fixture
def modes_count(tmp_path, monkeypatch):
    """Servers to whom the modes of files apply: root's have lost the right to pass over them."""
    if os.geteuid() != 0:
        return
    launcher = tmp_path / "bounded"
    bounds = "-dac_override,-dac_read_search,-fowner"
    launcher.write_text(f"#!/bin/sh\nexec setpriv --bounding-set={bounds} '{serving.binary()}' \"$@\"\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("HEARTH_BINARY", str(launcher))


def test_a_folder_that_may_only_be_read_is_read(tiny, right, tmp_path, modes_count):
    folder = tmp_path / "cache"
    with serving.Server(tiny, "--ssd-cache", folder) as server:
        assert answers(server, PROMPTS[:1]) == right[:1] and flush(server)
        assert server.stop() == 0
    read_only(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with serving.Server(tiny, "--ssd-cache", folder) as server:
        assert answers(server) == right
        stats = disk_stats(server)
        assert stats["restores"] == 1 and stats["bad_files"] == 0
        assert not flush(server) and disk_stats(server)["failed_spills"] > 0
        assert server.output().count(TOLD) == 1
        assert server.stop() == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_an_empty_folder_that_may_only_be_read_is_done_without(tiny, right, tmp_path, modes_count):
    folder = tmp_path / "cache"
    folder.mkdir()
    read_only(folder)
    with serving.Server(tiny, "--ssd-cache", folder) as server:
        assert answers(server) == right
        assert cached(ask(server, PROMPTS[0])) > 300  # from memory
        assert server.output().count(TOLD) == 1 and not flush(server)
        assert server.stop() == 0
    assert not list(folder.iterdir())
