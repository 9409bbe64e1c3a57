"""Load on hearth's server, and on llama.cpp's and mlx-lm's: same weights, same requests, one interleaved run.

Closed loop: --clients at a time, each sending the next request when it has its answer. Open loop: --rate sessions a
second arrive as a Poisson process, whatever became of those before. What they ask is a mix: a built-in one or a JSON
file (loadgen/mix.py says what a kind of session is): short and long prompts, shared beginnings, conversations whose
history grows, clients that go away in the middle.

Every round starts each server anew, one after the other (A B C, A B C, ...), checks that it answers a known question
rightly and that its token counts add up, then runs the round's sessions. The question is asked again in the middle
of the load: an answer that differs from the one given alone counts as `wrong`. Reported: median of the rounds with the
least and the most; a ratio is the first server's to that one's, above 1 the first is ahead. The time to the first token
counts from when the request was due. --url measures servers that run already.
"""
import argparse
import asyncio
import datetime
import json
import pathlib
import subprocess
import sys
import time

import compare
from loadgen import arrivals, check, drive, mix, report, servers, stats


def one_round(server, args, number):
    """{value: number} of one round on a server that is up."""
    reference = check.check(server)
    seed = args.seed * 1000 + number
    sessions = check.with_probes(mix.sessions(mix.load(args.mix), args.sessions, seed))
    server_cpu, client_cpu, began = server.seen.cpu_seconds(), time.process_time(), drive.clock()
    if args.rate:
        times = arrivals.poisson(args.rate, len(sessions), seed)
        records = asyncio.run(drive.open_loop(server, sessions, times, args.timeout))
    else:
        records = asyncio.run(drive.closed_loop(server, sessions, args.clients, args.timeout))
    spent = server.seen.cpu_seconds() - server_cpu, time.process_time() - client_cpu
    others, probes, wrong = check.settle(records, reference)
    for record in others:
        if record.error:
            print(f"  {record.kind}: {record.error}", file=sys.stderr)
    return {**stats.summary(others, began, *spent), "probes": probes, "wrong": wrong,
            "probe_prompt_tokens": reference.prompt_tokens, "peak_memory_bytes": server.seen.memory("VmHWM")}


def starters(args):
    """{name: function that starts the server}"""
    if args.url:
        return {name: lambda name=name, url=url: servers.Running(name, url)
                for name, _, url in (entry.partition("=") for entry in args.url)}
    model = args.model or compare.output_of([compare.ROOT / "tools/starter-model"]).strip()
    known = {"hearth": lambda: servers.hearth(args.hearth, model, args.hearth_flags.split()),
             "llama.cpp": lambda: servers.llama_cpp(args.gguf or compare.starter_gguf(), args.rows, args.context),
             "mlx-lm": lambda: servers.mlx_lm(model, args.rows)}
    for name in args.servers.split(","):
        if name not in known:
            raise SystemExit(f"{name}: no such server; there are {', '.join(known)}")
    return {name: known[name]() for name in args.servers.split(",")}


def measure(start, args):
    """{name: [summary of each round]}"""
    results = {name: [] for name in start}
    for number in range(args.rounds):
        for name in start:
            with start[name]() as server:
                result = one_round(server, args, number)
            results[name].append(result)
            print(f"round {number + 1}, {name}: {result['tokens_per_s']:.1f} tokens/s, first token after "
                  f"{result['ttft_p50_ms'] or 0:.0f} ms (p95 {result['ttft_p95_ms'] or 0:.0f}), "
                  f"{result['errors']} errors, {result['wrong']} of {result['probes']} probes wrong", file=sys.stderr)
    counts = {name: rounds[0]["probe_prompt_tokens"] for name, rounds in results.items()}
    if len(set(counts.values())) > 1:
        raise SystemExit(f"the servers count the probe's prompt differently: {counts}")
    return results


def heading(args):
    commit = subprocess.run(["git", "-C", compare.ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True,
                            text=True, check=True).stdout.strip()
    how = f"open loop, {args.rate} sessions a second" if args.rate else f"closed loop, {args.clients} clients"
    return (f"## Load, {datetime.date.today()}, {commit}\n\n{compare.processor()}, {compare.THREADS} cores. Mix "
            f"`{args.mix}`, {how}, {args.sessions} sessions a round, {args.rounds} interleaved rounds, greedy.\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hearth", default=compare.ROOT / "build/release/hearth", type=pathlib.Path)
    parser.add_argument("--hearth-flags", default="", help="more flags of `hearth serve`, in one argument")
    parser.add_argument("--servers", default="hearth,llama.cpp,mlx-lm", help="which, in this order")
    parser.add_argument("--url", action="append", metavar="NAME=URL", help="a server that runs already (repeatable)")
    parser.add_argument("--model", help="folder for hearth and mlx-lm (default: the starter model)")
    parser.add_argument("--gguf", help="file for llama.cpp (default: that of the starter model)")
    parser.add_argument("--rows", default=8, type=int, help="answers at once of llama.cpp and mlx-lm")
    parser.add_argument("--context", default=4096, type=int, help="of each of llama.cpp's answers")
    parser.add_argument("--mix", default="short", help=f"{', '.join(mix.BUILT_IN)}, or a JSON file")
    parser.add_argument("--sessions", default=32, type=int, help="a round")
    parser.add_argument("--clients", default=8, type=int, help="of the closed loop")
    parser.add_argument("--rate", type=float, help="sessions a second: open loop")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--timeout", default=600, type=float, help="seconds for an answer")
    parser.add_argument("--json", type=pathlib.Path, help="write every round's values here")
    parser.add_argument("--write", type=pathlib.Path, help="add a dated section to this file")
    return parser.parse_args()


def main():
    args = arguments()
    try:
        results = measure(starters(args), args)
    except (check.Wrong, ValueError) as error:
        raise SystemExit(str(error)) from None
    text = heading(args) + "\n" + report.table(results) + "\n"
    print(text)
    if args.json:
        args.json.write_text(json.dumps({"settings": vars(args), "rounds": results}, indent=1, default=str) + "\n")
    if args.write:
        with args.write.open("a", encoding="utf-8") as file:
            file.write("\n" + text)


if __name__ == "__main__":
    main()
