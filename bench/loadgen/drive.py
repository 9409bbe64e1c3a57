"""Runs sessions against a server: closed loop (n clients, one session after the other), open loop (at given times)."""
import asyncio
import json

from .http import Line, clock, post
from .stats import Record


def chat(messages, max_tokens):
    """The request that every server understands; greedy, so that answers can be compared."""
    return {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}}


def read_answer(record, answer, left):
    """Fills the record from the events of an answer."""
    record.end, record.status, record.left = clock(), answer.status, left
    pieces, usage, ended = [], {}, False
    for when, payload in answer.events:
        if payload == b"[DONE]":
            ended = True
            continue
        frame = json.loads(payload)
        if "error" in frame:
            record.error = f"error frame: {frame['error'].get('message', frame['error'])}"
            return
        usage = frame.get("usage") or usage
        for choice in frame.get("choices", []):
            record.finish = choice.get("finish_reason") or record.finish
            if text := choice.get("delta", {}).get("content"):
                pieces.append((when, text))
    record.text = "".join(text for _, text in pieces)
    times = [when for when, _ in pieces]
    record.first = times[0] if times else None
    record.gaps = [b - a for a, b in zip(times, times[1:])]
    record.prompt_tokens = usage.get("prompt_tokens", 0)
    record.completion_tokens = usage.get("completion_tokens", 0)
    record.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    if not left:
        record.error = fault_of(answer, ended, usage, record)


def fault_of(answer, ended, usage, record):
    """Why an answer that was to be whole is none; empty: it is."""
    if answer.status != 200:
        return f"status {answer.status}: {answer.body[:200].decode(errors='replace')}" if answer.status \
            else "no answer"
    if not ended or not answer.complete:
        return "the stream broke off"
    if not usage:
        return "no usage was told"
    if record.finish is None:
        return "no finish_reason was told"
    return ""


class Client:
    """One connection that is kept while the server keeps it."""

    def __init__(self, host, port, timeout=600):
        self.host, self.port, self.timeout, self.line = host, port, timeout, None

    async def ask(self, kind, messages, max_tokens, due=None, leave_after=0):
        record = Record(kind, due=clock() if due is None else due)
        try:
            request = post(f"{self.host}:{self.port}", "/v1/chat/completions", chat(messages, max_tokens))
            answer = await self._send(request, leave_after)
        except OSError as error:
            record.end, record.error = clock(), f"no connection: {error}"
            return record
        read_answer(record, answer, bool(leave_after) and not answer.complete and
                    len(answer.events) >= leave_after)
        if not record.error and record.finish == "length" and record.completion_tokens != max_tokens:
            record.error = f"{record.completion_tokens} tokens told, {max_tokens} asked for"
        return record

    async def _send(self, request, leave_after):
        """Over the kept connection; over a new one if the server closed that before it saw the request."""
        if self.line and self.line.usable:
            answer = await self.line.ask(request, leave_after, self.timeout)
            if answer.status:
                return answer
        self.line = await Line.open(self.host, self.port)
        return await self.line.ask(request, leave_after, self.timeout)

    async def run(self, session, due=None):
        """Records of the session's turns; it ends with the first that is not whole."""
        messages = [{"role": "system", "content": session.system}] if session.system else []
        records = []
        for turn in session.turns:
            if turn.think:
                await asyncio.sleep(turn.think)
            messages.append({"role": "user", "content": turn.question})
            record = await self.ask(session.kind, messages, turn.max_tokens, due, turn.leave_after)
            records.append(record)
            due = None
            if not record.whole:
                break
            messages.append({"role": "assistant", "content": record.text})
        return records

    def close(self):
        if self.line:
            self.line.close()


async def closed_loop(server, sessions, clients, timeout=600):
    """`clients` at a time; each takes the next session when it is done with one."""
    waiting, records = iter(sessions), []

    async def work():
        client = Client(server.host, server.port, timeout)
        for session in waiting:
            records.extend(await client.run(session))
        client.close()

    await asyncio.gather(*(work() for _ in range(clients)))
    return records


async def open_loop(server, sessions, times, timeout=600):
    """Each session begins at its time, whatever became of those before it."""
    start, records = clock(), []

    async def work(session, at):
        await asyncio.sleep(max(0.0, start + at - clock()))
        client = Client(server.host, server.port, timeout)
        records.extend(await client.run(session, start + at))
        client.close()

    await asyncio.gather(*(work(session, at) for session, at in zip(sessions, times)))
    return records
