#!/usr/bin/env python3
"""Unpacks one pinned MLX pack: usage: fetch_mlx.py cpu|cuda12|cuda13|metal DEST

Fetches the pack's wheel with `pip download`, which checks it against the hashes of pins.json, and
unpacks it into DEST: headers, libmlx and the CMake package end up in DEST/mlx. DEST appears whole
or not at all. A DEST that already holds the pinned version is left alone.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pins


def fetch(pack, dest):
    """Makes folder `dest` hold the pack. Raises SystemExit with what to do when it cannot."""
    mlx = pins.load()["mlx"]
    if pack not in mlx["packs"]:
        raise SystemExit(f"unknown MLX pack '{pack}', expected one of {', '.join(mlx['packs'])}")
    entry = mlx["packs"][pack]
    dest = pathlib.Path(dest)
    dist_info = f"{entry['package'].replace('-', '_')}-{mlx['version']}.dist-info"
    if (dest / dist_info).is_dir() and (dest / "mlx").is_dir():
        return
    dest.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=dest.parent, prefix=".fetch-") as scratch:
        print(f"fetching {entry['package']} {mlx['version']}", file=sys.stderr)
        wheel = pins.download(entry["package"], mlx["version"], entry["sha256"].values(), scratch)
        unpacked = pathlib.Path(scratch) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        if dest.exists():
            shutil.rmtree(dest)
        unpacked.rename(dest)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        fetch(sys.argv[1], sys.argv[2])
    except subprocess.CalledProcessError:
        raise SystemExit(f"the MLX pack '{sys.argv[1]}' could not be fetched: pip's words are above")
