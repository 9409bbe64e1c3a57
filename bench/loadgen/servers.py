"""The servers that are measured: how each is started on the same weights, and what the system says of its process."""
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREADS = os.cpu_count()
TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS = 120


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """What /proc tells of a process; zeros where there is no /proc or no such process."""

    def __init__(self, pid):
        self.folder = pathlib.Path(f"/proc/{pid}")

    def cpu_seconds(self):
        try:
            fields = (self.folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self, field="VmRSS"):
        """Bytes: VmRSS is now, VmHWM the most so far."""
        try:
            lines = (self.folder / "status").read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), 0)

    def descriptors(self):
        try:
            return len(list((self.folder / "fd").iterdir()))
        except OSError:
            return 0


class Server:
    """A server that is up: host, port, process. Ended with the `with`."""

    def __init__(self, name, command, port, env=None):
        self.name, self.host, self.port = name, "127.0.0.1", port
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, env={**os.environ, **(env or {})})
        self.seen = Process(self.process.pid)
        self._wait()

    def _wait(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"http://{self.host}:{self.port}/health", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        self.end()
        raise SystemExit(f"{self.name} did not start:\n{self.output()[-2000:]}")

    def output(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.log.close()


def hearth(program, model, flags=()):
    """@return a function that starts one"""
    def start():
        port, home = free_port(), tempfile.TemporaryDirectory()
        server = Server("hearth", [program, "serve", "--model", model, "--port", port, "--no-open", *flags], port,
                        {"HEARTH_HOME": home.name})
        server.home = home  # goes with it
        return server
    return start


def mlx_lm(model, rows):
    def start():
        port = free_port()
        return Server("mlx-lm", [ROOT / ".deps/oracle/bin/python", ROOT / "bench/peers/mlx_server.py", "--model", model,
                                 "--port", port, "--decode-concurrency", rows, "--log-level", "WARNING"], port)
    return start


def llama_cpp(gguf, rows, context):
    def start():
        python = ROOT / ".deps/llama_server/bin/python"
        if not python.exists():
            raise SystemExit("llama.cpp's server is not here yet: tools/setup --test --bench gets it")
        port = free_port()
        return Server("llama.cpp", [python, ROOT / "bench/peers/llama_server.py", gguf, port, rows, context, THREADS],
                      port)
    return start


class Running:
    """A server that somebody else started: NAME=http://host:port."""

    def __init__(self, name, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise SystemExit(f"{url}: expected http://host:port")
        self.name, self.host, self.port = name, parts.hostname, parts.port or 80
        self.seen = Process(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
