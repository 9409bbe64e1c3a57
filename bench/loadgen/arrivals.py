"""When open-loop sessions begin: a Poisson process, the same for every server of a run."""
import random


def poisson(rate, count, seed):
    """`count` rising times in seconds from the start; the gaps are exponential with mean 1 / rate."""
    rng = random.Random(seed)
    now, times = 0.0, []
    for _ in range(count):
        now += rng.expovariate(rate)
        times.append(now)
    return times
