"""Fixtures of the text suite: real tokenizers and templates, with what the Python libraries make of them.

usage: make_fixtures.py

Needs the oracle's Python (tokenizers, transformers, jinja2): HEARTH_ORACLE_PYTHON, else
.deps/oracle/bin/python. Works in ${HEARTH_CACHE_DIR:-.cache}/text/KEY, where KEY is a hash of the
scripts; `current` beside it leads there. A second run finds it and is done at once.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = os.path.join(os.path.dirname(ROOT), "shared", "testmodels")
OWN = ["make_fixtures.py", "encodings.py", "renderings.py", "conversations.py"]


def oracle_python():
    path = os.environ.get("HEARTH_ORACLE_PYTHON") or os.path.join(ROOT, ".deps/oracle/bin/python")
    if not os.path.exists(path):
        sys.exit(f"{path}: the oracle's Python is missing; run tools/setup, or set HEARTH_ORACLE_PYTHON")
    return path


def key(python):
    digest = hashlib.sha256()
    versions = "import importlib.metadata as m; print([m.version(p) for p in ('tokenizers', 'transformers', 'jinja2')])"
    digest.update(subprocess.run([python, "-c", versions], check=True, capture_output=True).stdout)
    scripts = [os.path.join(HERE, name) for name in OWN]
    scripts += sorted(os.path.join(HERE, "templates", n) for n in os.listdir(os.path.join(HERE, "templates")))
    scripts += [os.path.join(MODELS, name) for name in ("make_tokenizers.py", "packs.py", "pins.json")]
    for path in scripts:
        with open(path, "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()[:16]


def make(python, folder):
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1", "USE_TORCH": "0"}
    # The module's tokenizers, templates and renderings; its encodings are fewer than those of encodings.py.
    reference = "import sys, make_tokenizers as m; m.collect(sys.argv[1]); m.renderings(sys.argv[1])"
    subprocess.run([python, "-c", reference, os.path.join(folder, "reference")], check=True,
                   env={**env, "PYTHONPATH": MODELS})
    steps = [subprocess.Popen([python, os.path.join(HERE, script), folder], env=env)
             for script in ("encodings.py", "renderings.py")]
    if any([step.wait() for step in steps]):
        sys.exit("a fixture script failed; see the lines above")
    with open(os.path.join(folder, "complete.json"), "w", encoding="utf-8") as f:
        f.write("{}\n")


def main():
    python = oracle_python()
    cache = os.path.join(os.environ.get("HEARTH_CACHE_DIR") or os.path.join(ROOT, ".cache"), "text")
    os.makedirs(cache, exist_ok=True)
    folder = os.path.join(cache, key(python))
    if not os.path.exists(os.path.join(folder, "complete.json")):
        work = tempfile.mkdtemp(dir=cache)
        try:
            make(python, work)
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(work, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    link = os.path.join(cache, f"link-{os.getpid()}")
    os.symlink(os.path.basename(folder), link)
    os.replace(link, os.path.join(cache, "current"))
    print(f"fixtures: {folder}")


if __name__ == "__main__":
    main()
