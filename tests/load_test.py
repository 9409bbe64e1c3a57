"""The load generator of bench/: its statistics, arrivals, mixes and client, against a server of a few lines."""
import asyncio
import collections
import json
import pathlib
import statistics
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from loadgen import arrivals, check, drive, http, mix, report, stats  # noqa: E402


def record(due, first, end, tokens, **more):
    return stats.Record("k", due=due, first=first, end=end, completion_tokens=tokens, **more)


class Statistics(unittest.TestCase):
    def test_percentiles_are_values_that_occurred(self):
        values = list(range(1, 101))
        self.assertEqual([stats.percentile(values, p) for p in (50, 95, 99, 100)], [50, 95, 99, 100])
        self.assertEqual(stats.percentile([7, 1], 50), 1)
        self.assertEqual(stats.percentile([7], 99), 7)
        self.assertIsNone(stats.percentile([], 50))

    def test_a_round_counts_from_its_beginning_and_waiting_from_when_it_was_due(self):
        told = stats.summary([record(0, 1, 3, 10, gaps=[1, 1]), record(1, 4, 5, 20)], began=0,
                             server_cpu=1, client_cpu=0.5)
        self.assertEqual((told["tokens_per_s"], told["ttft_p50_ms"], told["ttft_p95_ms"]), (6, 1000, 3000))
        self.assertEqual((told["gap_p50_ms"], told["client_cpu_share"]), (1000, 0.1))

    def test_answers_that_failed_or_were_left_count_for_no_token(self):
        told = stats.summary([record(0, 1, 2, 10), record(0, 1, 4, 99, error="x"), record(0, 1, 3, 99, left=True)], 0)
        self.assertEqual((told["tokens"], told["errors"], told["left"], told["seconds"]), (10, 1, 1, 4))

    def test_ratios_are_of_rounds_that_took_turns(self):
        self.assertEqual(stats.ratios([10, 20, 60], [5, 20, 20]), (2, 1, 3))
        self.assertIsNone(stats.ratios([1], [None]))

    def test_a_table_says_who_is_ahead(self):
        speeds = {key: 10 for key, _, _ in report.SPEEDS}
        counts = dict.fromkeys((key for key, _ in report.SUMS), 2)
        counts |= {"server_cpu_s": 1, "client_cpu_share": 0.01, "peak_memory_bytes": 5e6}
        ours, theirs = speeds | counts, speeds | counts | {"tokens_per_s": 5, "ttft_p50_ms": 30}
        rows = [line.split(" | ") for line in report.table({"a": [ours] * 2, "b": [theirs] * 2}).splitlines()]
        self.assertEqual(rows[3][:4], ["| b", "5.0 (5.0–5.0)", "2.00 (2.00–2.00)", "30.0 (30.0–30.0)"])
        self.assertEqual(rows[3][4], "3.00 (3.00–3.00)")
        self.assertEqual(rows[2][2], "1.00 (1.00–1.00)")


class Arrivals(unittest.TestCase):
    def test_a_seed_is_one_process(self):
        self.assertEqual(arrivals.poisson(3, 50, 1), arrivals.poisson(3, 50, 1))
        self.assertNotEqual(arrivals.poisson(3, 50, 1), arrivals.poisson(3, 50, 2))

    def test_gaps_are_exponential_with_the_rate(self):
        times = arrivals.poisson(4, 20000, 1)
        gaps = [b - a for a, b in zip([0, *times], times)]
        self.assertGreaterEqual(min(gaps), 0)
        self.assertAlmostEqual(statistics.mean(gaps), 0.25, delta=0.01)
        self.assertAlmostEqual(statistics.stdev(gaps), 0.25, delta=0.01)  # as large as the mean: no other law has that
        in_a_second = collections.Counter(int(t) for t in times)
        counts = [in_a_second[second] for second in range(int(times[-1]))]
        self.assertAlmostEqual(statistics.variance(counts) / statistics.mean(counts), 1, delta=0.1)


class Mixes(unittest.TestCase):
    def test_sessions_are_the_same_for_every_server(self):
        kinds = mix.load("all")
        self.assertEqual(mix.sessions(kinds, 40, 7), mix.sessions(kinds, 40, 7))
        self.assertNotEqual(mix.sessions(kinds, 40, 7), mix.sessions(kinds, 40, 8))

    def test_shares_are_kept(self):
        kinds = [mix.Kind("a", weight=3), mix.Kind("b", leave=0.2)]
        drawn = mix.sessions(kinds, 4000, 1)
        b = [s for s in drawn if s.kind == "b"]
        self.assertAlmostEqual(len(b) / len(drawn), 0.25, delta=0.03)
        self.assertAlmostEqual(sum(s.turns[-1].leave_after > 0 for s in b) / len(b), 0.2, delta=0.05)

    def test_a_kind_shares_its_beginnings(self):
        drawn = mix.sessions(mix.load("shared"), 50, 1)
        self.assertEqual(len({s.system for s in drawn}), 2)
        self.assertEqual(len({s.turns[0].question for s in drawn}), 50)

    def test_a_file_is_checked(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            for kinds, message in [([{"name": "x", "speed": 1}], "unknown speed"),
                                   ([{"name": "x", "turns": [2, 1]}], r"turns is \[2, 1\]")]:
                file.seek(0)
                file.truncate()
                json.dump(kinds, file)
                file.flush()
                with self.assertRaisesRegex(ValueError, message):
                    mix.load(file.name)
        with self.assertRaisesRegex(ValueError, "neither a file nor one of short"):
            mix.load("nothing")


def event(text=None, **more):
    frame = {"choices": [], **more} if "usage" in more else {
        "choices": [{"index": 0, "delta": {"content": text} if text else {}, **more}]}
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def answer_to(count):
    """A whole streamed answer of `count` tokens."""
    usage = {"prompt_tokens": 9, "completion_tokens": count, "prompt_tokens_details": {"cached_tokens": 4}}
    return [*[event("w ")] * count, event(finish_reason="length"), event(usage=usage), b"data: [DONE]\n\n"]


class Parsing(unittest.TestCase):
    def test_any_cut_of_the_bytes_is_the_same_answer(self):
        raw = HEAD + b"".join(map(chunk, answer_to(3))) + b"0\r\n\r\n"
        for step in (1, 2, 3, 7, 50, len(raw)):
            answer = http.Answer()
            for at in range(0, len(raw), step):
                self.assertFalse(answer.complete)
                answer.feed(raw[at:at + step], at)
            self.assertTrue(answer.complete)
            got = stats.Record("k", due=0)
            drive.read_answer(got, answer, False)
            self.assertEqual((got.text, got.error, got.completion_tokens, got.cached_tokens), ("w w w ", "", 3, 4))

    def test_an_event_that_spans_chunks_is_one(self):
        answer = http.Answer()
        answer.feed(HEAD + chunk(b"data: 1") + chunk(b"2\n\nda") + chunk(b"ta: 3\n\n"), 5)
        self.assertEqual(answer.events, [(5, b"12"), (5, b"3")])

    def test_a_body_of_no_length_ends_with_the_connection(self):
        answer = http.Answer()
        answer.feed(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: [DONE]\n\n", 1)
        self.assertFalse(answer.complete or answer.keep_alive)
        answer.end()
        self.assertTrue(answer.complete)


class Fake:
    """A server whose answers are given: lists of pieces, sent `delay` apart; b"" closes."""

    def __init__(self, answers, delay=0.0):
        self.answers, self.delay = collections.deque(answers), delay
        self.connections, self.seen, self.writers = 0, [], []

    async def __aenter__(self):
        self.listener = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.host, self.port = self.listener.sockets[0].getsockname()
        self.name = "fake"
        return self

    async def __aexit__(self, *_):
        self.listener.close()
        for writer in self.writers:
            writer.close()

    async def serve(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
                self.seen.append(json.loads(await reader.readexactly(length)))
                for piece in self.answers.popleft():
                    await asyncio.sleep(self.delay)
                    writer.write(piece) if piece else writer.close()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()


def streamed(count):
    return [HEAD, *map(chunk, answer_to(count)), b"0\r\n\r\n"]


def single(tokens=2, **fields):
    return mix.Session("k", "", (mix.Turn("hi", tokens, **fields),))


class Driving(unittest.TestCase):
    def run_closed(self, answers, sessions, delay=0.0, clients=1):
        async def go():
            async with Fake(answers, delay) as fake:
                return await drive.closed_loop(fake, sessions, clients, timeout=5), fake
        return asyncio.run(go())

    def test_a_connection_is_kept_and_history_grows(self):
        turns = mix.Session("k", "be brief", (mix.Turn("one", 2), mix.Turn("two", 2)))
        records, fake = self.run_closed([streamed(2)] * 3, [turns, single()])
        self.assertEqual([r.error for r in records], [""] * 3)
        self.assertEqual(fake.connections, 1)
        self.assertEqual([m["content"] for m in fake.seen[1]["messages"]], ["be brief", "one", "w w ", "two"])
        self.assertEqual(len(fake.seen[2]["messages"]), 1)

    def test_times_are_those_of_the_text(self):
        records, _ = self.run_closed([streamed(3)], [single(3)], delay=0.02)
        self.assertGreaterEqual(records[0].first - records[0].due, 0.04)  # the head, then the first token
        self.assertEqual(len(records[0].gaps), 2)
        self.assertGreaterEqual(min(records[0].gaps), 0.015)

    def test_faults_are_told(self):
        refusal = b"HTTP/1.1 429 Too Many\r\nContent-Length: 4\r\n\r\nbusy"
        broken = [HEAD, chunk(event("w ")), b""]
        cut = [HEAD, chunk(event("w ")), chunk(b'data: {"error":{"message":"stopped"}}\n\n'), b"0\r\n\r\n"]
        records, _ = self.run_closed([[refusal], broken, cut, streamed(5)], [single()] * 4)
        self.assertEqual([r.error for r in records], [
            "status 429: busy", "the stream broke off", "error frame: stopped", "5 tokens told, 2 asked for"])

    def test_a_client_leaves_in_the_middle(self):
        records, fake = self.run_closed([streamed(50), streamed(2)], [single(50, leave_after=3), single()], delay=0.002)
        self.assertEqual([r.left for r in records], [True, False])
        self.assertEqual([r.error for r in records], ["", ""])
        self.assertEqual(fake.connections, 2)

    def test_open_loop_sends_when_due_whatever_came_before(self):
        async def go():
            async with Fake([streamed(2)] * 3, delay=0.05) as fake:
                return await drive.open_loop(fake, [single()] * 3, [0, 0.01, 0.02]), fake
        records, fake = asyncio.run(go())
        self.assertEqual(fake.connections, 3)
        dues = sorted(r.due for r in records)
        self.assertAlmostEqual(dues[2] - dues[0], 0.02)
        self.assertLess(max(r.first for r in records) - dues[0], 0.3)

    def test_a_server_that_answers_wrongly_is_not_measured(self):
        async def go():
            async with Fake([streamed(16), streamed(16), streamed(24)]) as fake:
                await check.alone(fake)
        with self.assertRaisesRegex(check.Wrong, "fake answers 'w w .*' to 'What is the capital of France"):
            asyncio.run(go())

    def test_probes_are_counted_apart(self):
        sessions = check.with_probes([single()] * 16)
        self.assertEqual([s.kind for s in sessions].count(check.KIND), 2)
        probes = [stats.Record(check.KIND, due=0, text=text) for text in ("Paris", "Rome")]
        others, count, wrong = check.settle([record(0, 1, 2, 3), *probes], types.SimpleNamespace(text="Paris"))
        self.assertEqual((len(others), count, wrong), (1, 2, 1))


if __name__ == "__main__":
    unittest.main()
