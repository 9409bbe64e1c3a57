"""The pinned packages of pins.json, and how one is fetched."""
import json
import pathlib
import subprocess
import sys
import tempfile


def load():
    """The contents of pins.json."""
    return json.loads((pathlib.Path(__file__).parent / "pins.json").read_text(encoding="utf-8"))


def download(package, version, sha256s, folder):
    """Path of the wheel of package==version, downloaded into `folder`.

    pip refuses a file whose SHA-256 is none of `sha256s`; it keeps its own cache of downloads.
    Raises CalledProcessError when pip fails (its words went to stderr).
    """
    folder = pathlib.Path(folder)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        hashes = " ".join(f"--hash=sha256:{h}" for h in sha256s)
        requirements.write(f"{package}=={version} {hashes}\n")
        requirements.flush()
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--only-binary=:all:", "--require-hashes", "--dest", folder,
             "--requirement", requirements.name],
            check=True, stdout=sys.stderr)
    return next(folder.glob(f"{package.replace('-', '_')}-{version}-*.whl"))
