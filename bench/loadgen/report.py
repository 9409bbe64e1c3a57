"""The rounds of every server as two tables: how fast, and what became of the requests."""
from .stats import ratios, spread

# value, heading, which way is better: +1 more, -1 less, 0 told without a ratio
SPEEDS = [
    ("tokens_per_s", "tokens/s", 1), ("ttft_p50_ms", "first token, ms: median", -1), ("ttft_p95_ms", "p95", -1),
    ("ttft_p99_ms", "p99", 0), ("gap_p50_ms", "between tokens, ms: median", -1), ("gap_p95_ms", "p95", 0),
    ("gap_p100_ms", "most", 0),
]
SUMS = [("requests", "requests"), ("errors", "errors"), ("left", "left"), ("wrong", "wrong"),
        ("prompt_tokens", "prompt tokens"), ("cached_tokens", "cached"), ("tokens", "generated")]


def told(found, digits=1):
    """"median (least–most)" of a spread, or a dash."""
    if not found:
        return "–"
    median, least, most = found
    return f"{median:.{digits}f} ({least:.{digits}f}–{most:.{digits}f})"


def speeds(rounds, first):
    cells = []
    for key, _, better in SPEEDS:
        theirs, ours = [r[key] for r in rounds], [r[key] for r in first]
        cells.append(told(spread(theirs)))
        if better:
            cells.append(told(ratios(ours, theirs) if better > 0 else ratios(theirs, ours), 2))
    return cells


def costs(rounds, _):
    return [*(str(sum(r[key] for r in rounds)) for key, _ in SUMS),
            told(spread([r["server_cpu_s"] / r["tokens"] * 1e3 for r in rounds if r["tokens"]])),
            told(spread([100 * r["client_cpu_share"] for r in rounds])),
            f"{max(r['peak_memory_bytes'] for r in rounds) / 1e6:.0f}"]


def markdown(heads, results, cells):
    first = next(iter(results.values()))
    rows = [[name, *cells(rounds, first)] for name, rounds in results.items()]
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows])


def table(results):
    """Markdown. A ratio is the first server's to this one's, round by round; above 1 the first is ahead."""
    fast = [""]
    for _, heading, better in SPEEDS:
        fast += [heading, "ratio"] if better else [heading]
    became = ["", *(heading for _, heading in SUMS), "server's processor, ms a token", "client's processor, %",
              "peak memory, MB"]
    return markdown(fast, results, speeds) + "\n\n" + markdown(became, results, costs)
