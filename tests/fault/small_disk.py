"""A real file system of a few pages, for a server whose disk is full: a tmpfs in a mount namespace of its own, which
servers started through its `launcher` share, and which the test reaches by way of /proc. It needs the right to mount,
or to have a user namespace: a container may grant neither, and then tests that ask for it cannot run."""
import contextlib
import os
import pathlib
import shutil
import subprocess

import pytest

import serving

SYS_ADMIN = 1 << 21  # the capability that may mount


def may_mount():
    status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    return bool(int(status.split("CapEff:")[1].split()[0], 16) & SYS_ADMIN)


class SmallDisk:
    """`folder` is what servers call it; `seen` is the same folder for the test."""

    def __init__(self, folder, kilobytes, options=""):
        folder.mkdir()
        self.folder = folder
        # Without the capability in a user namespace of our own, where the system lets us have one.
        unshare = ["unshare", "--mount"] if may_mount() else ["unshare", "--mount", "--map-root-user"]
        mount = f"mount -t tmpfs -o size={kilobytes}k{options} tmpfs '{folder}' && echo mounted && exec sleep infinity"
        self.holder = subprocess.Popen([*unshare, "sh", "-c", mount], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.holder.stdout.readline() != b"mounted\n":
            why = f"no file system can be mounted here: {self.holder.communicate()[1].decode()}"
            pytest.fail(why) if may_mount() else pytest.skip(why)
        self.seen = pathlib.Path(f"/proc/{self.holder.pid}/root") / folder.relative_to("/")
        self.launcher = folder.parent / "inside"
        user = "" if may_mount() else " --user --preserve-credentials"
        self.launcher.write_text(
            f"#!/bin/sh\nexec nsenter --target {self.holder.pid} --mount{user} '{serving.binary()}' \"$@\"\n")
        self.launcher.chmod(0o755)

    def free(self):
        return shutil.disk_usage(self.seen).free

    def fill(self, name="ballast"):
        """Takes every byte that is left."""
        with contextlib.suppress(OSError), (self.seen / name).open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                os.fsync(file.fileno())

    def close(self):
        self.holder.kill()
        self.holder.communicate()
