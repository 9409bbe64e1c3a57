"""Is the answer right? Asked of every server before it is measured, and again in the middle of the load."""
import asyncio
import dataclasses

from .drive import Client
from .mix import Session, Turn

SYSTEM, QUESTION, ANSWER = "You are a helpful assistant.", "What is the capital of France?", "Paris"
KIND = "probe"
PROBE = Session(KIND, SYSTEM, (Turn(QUESTION, 16),))
LONG = Session("long", SYSTEM, (Turn("Write a long story about a lighthouse.", 24),))


@dataclasses.dataclass
class Reference:
    text: str            # of the probe, asked alone
    prompt_tokens: int


class Wrong(Exception):
    """A server whose speed is not told: what it said and what was expected."""


async def alone(server):
    """The probe's answer on an idle server. @raises Wrong unless it is right, the same twice, and its tokens add up"""
    client = Client(server.host, server.port)
    try:
        first, second, long = [(await client.run(session))[0] for session in (PROBE, PROBE, LONG)]
    finally:
        client.close()
    for record in (first, second, long):
        if record.error:
            raise Wrong(f"{server.name}: {record.error}")
    if ANSWER not in first.text:
        raise Wrong(f"{server.name} answers {first.text!r} to {QUESTION!r}")
    if (second.text, second.completion_tokens) != (first.text, first.completion_tokens):
        raise Wrong(f"{server.name}: the same greedy request answers {first.text!r}, then {second.text!r}")
    if long.finish != "length" or long.completion_tokens != LONG.turns[0].max_tokens:
        raise Wrong(f"{server.name}: {long.completion_tokens} tokens and {long.finish} where {LONG.turns[0].max_tokens}"
                    " and length were asked for")
    return Reference(first.text, first.prompt_tokens)


def with_probes(sessions, every=8):
    """The sessions with the probe after every eighth."""
    out = []
    for number, session in enumerate(sessions, 1):
        out.append(session)
        if number % every == 0:
            out.append(PROBE)
    return out


def settle(records, reference):
    """Takes the probes out of the records. @return (the others, probes, probes that answered something else)"""
    probes = [r for r in records if r.kind == KIND]
    others = [r for r in records if r.kind != KIND]
    wrong = sum(not r.whole or r.text != reference.text for r in probes)
    return others, len(probes), wrong


def check(server):
    return asyncio.run(alone(server))
