"""What is told of a round: percentiles, rates, ratios with spread. Plain values in, plain values out."""
import dataclasses
import math
import statistics


def percentile(values, p):
    """The least value that at least p % of the values do not exceed (nearest rank); None of none."""
    if not values:
        return None
    ranked = sorted(values)
    return ranked[max(0, math.ceil(p / 100 * len(ranked)) - 1)]


@dataclasses.dataclass
class Record:
    """One request as its client saw it. Times are seconds of one monotonic clock."""
    kind: str
    due: float                # when it should have been sent: waiting to be sent counts as waiting
    end: float = 0
    first: float | None = None                     # arrival of the first text
    gaps: list = dataclasses.field(default_factory=list)  # between pieces of text, seconds
    status: int = 0
    error: str = ""           # empty: answered, or left on purpose
    left: bool = False        # the client went away in mid-stream, as it was told to
    text: str = ""
    finish: str | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    @property
    def whole(self):
        return not self.error and not self.left


def summary(records, began, server_cpu=0.0, client_cpu=0.0):
    """{value: number} of one round. Rates are over the whole of it, from `began` to the last end.

    Answers that were left in the middle count for no time and no token; what they cost the others shows.
    @param server_cpu, client_cpu  processor seconds spent during the round
    """
    whole = [r for r in records if r.whole]
    seconds = max((r.end for r in records), default=began) - began
    tokens = sum(r.completion_tokens for r in whole)
    firsts = [(r.first - r.due) * 1e3 for r in whole if r.first is not None]
    gaps = [gap * 1e3 for r in whole for gap in r.gaps]
    return {
        "seconds": seconds,
        "requests": len(records),
        "errors": sum(bool(r.error) for r in records),
        "left": sum(r.left for r in records),
        "tokens": tokens,
        "tokens_per_s": tokens / seconds if seconds else 0.0,
        "prompt_tokens": sum(r.prompt_tokens for r in whole),
        "cached_tokens": sum(r.cached_tokens for r in whole),
        **{f"ttft_p{p}_ms": percentile(firsts, p) for p in (50, 95, 99)},
        **{f"gap_p{p}_ms": percentile(gaps, p) for p in (50, 95, 100)},
        "server_cpu_s": server_cpu,
        "client_cpu_share": client_cpu / seconds if seconds else 0.0,
    }


def spread(values):
    """(median, least, most) of the rounds; None where no round had the value."""
    known = [v for v in values if v is not None]
    return (statistics.median(known), min(known), max(known)) if known else None


def ratios(ours, theirs):
    """ours / theirs, round by round, for rounds that took turns: what slowed one slowed the other.

    @return (median, least, most); None where nothing can be divided
    """
    return spread([a / b for a, b in zip(ours, theirs) if a is not None and b])
