"""One measured run of mlx-lm on the CPU, or its greedy answer.

usage: mlx_lm.py REQUEST   with REQUEST a JSON object as compare.py writes it; the oracle's Python
"""
import json
import pathlib
import resource
import sys
import time

sys.path.pop(0)  # this folder: the script is named like the package
import mlx.core as mx  # noqa: E402

mx.set_default_device(mx.cpu)  # before mlx_lm, which makes its stream on import
from mlx_lm.generate import generate_step  # noqa: E402
from mlx_lm.utils import load_model  # noqa: E402


def run(model, prompt, count):
    start = time.perf_counter()
    times, ids = [], []
    for token, _ in generate_step(mx.array(prompt), model, max_tokens=count):
        times.append(time.perf_counter())
        ids.append(int(token))
    return ids, times[0] - start, times[-1] - times[0]


def peak_memory_bytes():
    """Linux lets a program inherit the maximum of the one that started it in ru_maxrss, hence /proc there."""
    status = pathlib.Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def main():
    request = json.loads(sys.argv[1])
    folder = pathlib.Path(request["model"])
    model, _ = load_model(folder)
    if "text" in request:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        ids, _, _ = run(model, tokenizer.encode(request["text"]).ids, request["tokens"])
        print(json.dumps({"text": tokenizer.decode(ids)}))
        return
    run(model, request["prompt"][:16], 4)
    ids, first, decode = run(model, request["prompt"], request["tokens"])
    print(json.dumps({
        "ttft_ms": first * 1e3, "prefill_tps": len(request["prompt"]) / first,
        "decode_tps": (len(ids) - 1) / decode,
        "peak_memory_bytes": peak_memory_bytes()}))


if __name__ == "__main__":
    main()
