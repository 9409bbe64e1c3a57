"""Servers with several tiny models, for the suites about pools and workers."""
import os
import pathlib
import threading
import time

import serving
import tiny_model

SWAPS = int(os.environ.get("HEARTH_POOL_SWAPS", "50"))
RACES = int(os.environ.get("HEARTH_POOL_RACES", "4"))


def make_models(folder, names=("tiny-a", "tiny-b", "tiny-c")):
    """A folder of models that differ in their weights."""
    for seed, name in enumerate(names, start=1):
        tiny_model.make(serving.starter_model(), folder / name, seed=seed)
    return folder


class Pool(serving.Server):
    """A server that starts with the first of a folder's models and knows the others."""

    def __init__(self, root, *flags, first="tiny-a", env=None, **more):
        nowhere = str(pathlib.Path(root) / "no-hub")
        super().__init__(root / first, *flags, **more,
                         env={"HEARTH_MODEL_DIRS": str(root), "HF_HUB_CACHE": nowhere, **(env or {})})

    def ask(self, model, text="hi", **fields):
        fields = {"max_tokens": 4, "temperature": 0, **fields}
        return self.http.post("/v1/chat/completions", json=serving.chat_body(text, model=model, **fields))

    def say(self, model, text="hi", **fields):
        """What the model answers."""
        answer = self.ask(model, text, **fields)
        assert answer.status_code == 200, answer.text
        assert answer.json()["model"] == model
        return answer.json()["choices"][0]["message"]["content"]

    def pool(self):
        return self.http.get("/stats").json()["pool"]

    def states(self):
        return {model["id"]: model["state"] for model in self.pool()["models"]}

    def resident(self):
        return {name for name, state in self.states().items() if state == "resident"}

    def wait_for(self, met, what, seconds=20):
        return serving.until(met, seconds, what)

    def memory(self):
        """Resident bytes of the process, and its threads."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        return int(fields["VmRSS"].split()[0]) * 1024, int(fields["Threads"])


class Streaming:
    """A streamed answer that runs beside the test."""

    def __init__(self, server, model, tokens=400, path="/v1/chat/completions", **fields):
        self.server, self.path = server, path
        self.body = {**serving.chat_body("Go on.", model=model, temperature=1, max_tokens=tokens, stream=True), **fields}
        self.status, self.lines, self.error = None, [], None
        self.began = threading.Event()
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        try:
            with self.server.http.stream("POST", self.path, json=self.body) as response:
                self.status = response.status_code
                for line in response.iter_lines():
                    self.lines.append(line)
                    self.began.set()
        except Exception as error:  # kept: what the test looks at
            self.error = error
        finally:
            self.began.set()

    def join(self):
        self.thread.join(120)
        assert not self.thread.is_alive()
        return self

    @property
    def whole(self):
        return self.status == 200 and self.error is None and "data: [DONE]" in self.lines


def at_once(*calls):
    """Runs the calls side by side and returns their results."""
    out = [None] * len(calls)

    def run(i, call):
        out[i] = call()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return out
