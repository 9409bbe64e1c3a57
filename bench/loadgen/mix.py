"""What clients ask: kinds of sessions with weights, and sessions drawn from them by a seed.

A mix is a list of kinds, from a JSON file or one of BUILT_IN. A kind:
  name, weight             how often, beside the others
  system_words, systems    length of the system message (0: none) and how many different ones there are:
                           sessions of one kind share their beginnings
  prompt_words             [least, most] of every turn's question
  max_tokens               [least, most] of every answer
  turns                    [least, most]; each resends the history with the answers that came
  think_seconds            mean of the exponential pause between turns
  leave                    share of sessions whose client goes away in the middle of its last answer
"""
import dataclasses
import json
import pathlib
import random

WORDS = """time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work number night point home water room mother
area money story fact month lot right study book eye job word business issue side kind head house service friend
father power hour game line end member law car city community name president team minute idea kid body information
back parent face others level office door health person art war history party result change morning reason research
girl guy moment air teacher force education""".split()


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    weight: float = 1
    system_words: int = 0
    systems: int = 1
    prompt_words: tuple = (10, 20)
    max_tokens: tuple = (32, 32)
    turns: tuple = (1, 1)
    think_seconds: float = 0
    leave: float = 0

    def __post_init__(self):
        for field in ("prompt_words", "max_tokens", "turns"):
            least, most = getattr(self, field)
            if not 1 <= least <= most:
                raise ValueError(f"{self.name}: {field} is [{least}, {most}], expected 1 <= least <= most")
        if not 0 <= self.leave <= 1 or self.weight <= 0 or self.systems < 1:
            raise ValueError(f"{self.name}: leave is 0 to 1, weight above 0, systems 1 or more")


BUILT_IN = {
    "short": [Kind("short")],
    "brief": [Kind("brief", max_tokens=(16, 16))],
    "shared": [Kind("shared", system_words=800, systems=2)],
    "long": [Kind("long", prompt_words=(1500, 3000))],
    "turns": [Kind("turns", turns=(4, 4), think_seconds=0.2)],
    "leaving": [Kind("leaving", max_tokens=(64, 64), leave=0.2)],
    "all": [Kind("short", weight=4), Kind("shared", weight=2, system_words=800, systems=2),
            Kind("long", prompt_words=(1000, 2000)), Kind("turns", turns=(2, 4), think_seconds=0.2),
            Kind("leaving", max_tokens=(64, 64), leave=0.5)],
}


def load(name_or_file):
    """Kinds of a built-in mix or of a JSON file. @raises ValueError that names what is wrong"""
    if name_or_file in BUILT_IN:
        return BUILT_IN[name_or_file]
    path = pathlib.Path(name_or_file)
    if not path.exists():
        raise ValueError(f"{name_or_file}: neither a file nor one of {', '.join(BUILT_IN)}")
    known = {field.name for field in dataclasses.fields(Kind)}
    kinds = []
    for entry in json.loads(path.read_text(encoding="utf-8")):
        if unknown := set(entry) - known:
            raise ValueError(f"{path}: unknown {', '.join(sorted(unknown))}; known are {', '.join(sorted(known))}")
        kinds.append(Kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}))
    return kinds


@dataclasses.dataclass(frozen=True)
class Turn:
    question: str
    max_tokens: int
    think: float = 0          # seconds of pause before it
    leave_after: int = 0      # pieces of the answer after which the client goes away; 0: it stays


@dataclasses.dataclass(frozen=True)
class Session:
    kind: str
    system: str               # empty: none
    turns: tuple


def words(rng, count):
    return " ".join(rng.choice(WORDS) for _ in range(count))


def session(kind, rng):
    system = ""
    if kind.system_words:
        system = "You are a helpful assistant. " + words(
            random.Random(f"{kind.name} {rng.randrange(kind.systems)}"), kind.system_words)
    leaves, turns = rng.random() < kind.leave, []
    for number in range(rng.randint(*kind.turns)):
        turns.append(Turn(
            question="Write a long story about these: " + words(rng, rng.randint(*kind.prompt_words)) + ".",
            max_tokens=rng.randint(*kind.max_tokens),
            think=rng.expovariate(1 / kind.think_seconds) if number and kind.think_seconds else 0.0))
    if leaves:
        turns[-1] = dataclasses.replace(turns[-1], leave_after=rng.randint(2, max(2, turns[-1].max_tokens // 2)))
    return Session(kind.name, system, tuple(turns))


def sessions(kinds, count, seed):
    """`count` sessions; the same for the same seed, whatever server they are for."""
    rng = random.Random(seed)
    drawn = rng.choices(kinds, [kind.weight for kind in kinds], k=count)
    return [session(kind, rng) for kind in drawn]
