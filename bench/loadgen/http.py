"""The least HTTP client that streams: asyncio protocols, no library, so that it takes little from what it measures.

A Line is one connection. It sends a request's bytes and cuts the answer into (time, payload) of server-sent events.
"""
import asyncio
import json
import time

clock = time.perf_counter


def post(host, path, body, headers=""):
    data = json.dumps(body).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(data)}\r\n\r\n").encode() + data


class Unchunk:
    """Takes the framing of `Transfer-Encoding: chunked` off, whatever pieces the bytes come in."""

    def __init__(self):
        self.rest, self.left, self.last, self.ended = b"", 0, False, False

    def feed(self, data):
        out, data, self.rest = [], self.rest + data, b""
        while data and not self.ended:
            if self.left:                                      # of the chunk and the line end behind it
                out.append(data[:max(0, self.left - 2)])
                taken = min(len(data), self.left)
                self.left, data = self.left - taken, data[taken:]
                continue
            line, line_end, after = data.partition(b"\r\n")
            if not line_end:
                self.rest = data
                break
            data = after
            if self.last:
                self.ended = not line                          # the blank line behind the trailers
            elif count := int(line.split(b";")[0], 16):
                self.left = count + 2
            else:
                self.last = True
        return b"".join(out)


class Answer:
    """One answer as it arrives: `status`, `events` [(time, payload bytes)], `body` of what is no stream of events."""

    def __init__(self):
        self.status, self.body, self.events = 0, b"", []
        self.keep_alive = True
        self.complete, self.length = False, None               # None: told by chunks, or by the end of the connection
        self._head, self._unchunk, self._stream, self._pending = b"", None, False, b""

    def feed(self, data, now):
        if not self.status:
            self._head += data
            head, blank, data = self._head.partition(b"\r\n\r\n")
            if not blank:
                return
            self._read_head(head)
        if self._unchunk:
            data = self._unchunk.feed(data)
            self.complete = self._unchunk.ended
        if self._stream:
            self._cut_events(data, now)
        else:
            self.body += data
        if self.length is not None:
            self.complete = len(self.body) >= self.length

    def _read_head(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        if "chunked" in fields.get("transfer-encoding", ""):
            self._unchunk = Unchunk()
        elif "content-length" in fields:
            self.length = int(fields["content-length"])
        self._stream = fields.get("content-type", "").startswith("text/event-stream") and self.length is None
        self.keep_alive = lines[0].startswith("HTTP/1.1") and fields.get("connection", "").lower() != "close"

    def end(self):
        """The server closed in order: that is the end of a body of no told length."""
        self.complete = self.complete or bool(self.status) and self.length is None and self._unchunk is None

    def _cut_events(self, data, now):
        *whole, self._pending = (self._pending + data).split(b"\n\n")
        self.events += [(now, event[6:]) for event in whole if event.startswith(b"data: ")]


class Line(asyncio.Protocol):
    def __init__(self):
        self.transport, self.answer, self._done, self._leave_after = None, None, None, 0

    @classmethod
    async def open(cls, host, port):
        _, line = await asyncio.get_running_loop().create_connection(cls, host, port)
        return line

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        if not self.answer:
            return
        self.answer.feed(data, clock())
        if self._leave_after and len(self.answer.events) >= self._leave_after:
            self.transport.abort()
        elif not self.answer.complete:
            return
        self._settle()

    def connection_lost(self, error):
        if self.answer and error is None:
            self.answer.end()
        self.transport = None
        self._settle()

    def _settle(self):
        if self._done and not self._done.done():
            self._done.set_result(None)

    @property
    def usable(self):
        return self.transport is not None and not self.transport.is_closing()

    async def ask(self, request, leave_after=0, timeout=600):
        """The Answer, which is not `complete` when the connection broke, the time was over, or we left after
        that many events."""
        self.answer, self._leave_after = Answer(), leave_after
        self._done = asyncio.get_running_loop().create_future()
        if self.usable:
            self.transport.write(request)
            try:
                await asyncio.wait_for(self._done, timeout)
            except asyncio.TimeoutError:
                self.transport.abort()
        answer, self.answer = self.answer, None
        if self.usable and not (answer.complete and answer.keep_alive):
            self.transport.abort()
        return answer

    def close(self):
        if self.usable:
            self.transport.close()
