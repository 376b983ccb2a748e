"""A stand-in for Kimina Lean servers: same protocol, workers that sleep in place of Lean. For ``kimina_client.py``.

Type: ``python benchmarks/kimina_stand_in.py --servers 1 --workers 60 --service-s 0.3``; it prints its ports as JSON, and
ends with its standard input. A request's proofs each wait for one of the server's workers, first come first served, and
the reply leaves when the last one is done, as on the real server. A proof takes ``service-s`` on average: its share is
drawn from its text (exponential, at most four times the mean: a few proofs take long, as in Lean), so that every client
meets the same times. ``GET /stats`` tells what happened since ``GET /reset/N`` (N: the number of proofs to come).
"""

import argparse
import asyncio
import hashlib
import json
import math
import sys
from collections import deque

LONGEST = 4.0
_MEAN = 1 - math.exp(-LONGEST)  # of an exponential variable that is cut at LONGEST


def share(code: str) -> float:
    """A proof's time as a multiple of the mean: the same for the same text."""
    draw = int.from_bytes(hashlib.blake2b(code.encode(), digest_size=8).digest(), "big") / 2**64
    return min(-math.log(1 - draw), LONGEST) / _MEAN


class Record:
    """What all workers of all servers did since the last reset. ``queued``: from the first arrival to the last start."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.reset(0)

    def reset(self, expected: int) -> None:
        self._expected, self._started, self._done = expected, 0, 0
        self._busy = 0
        self._first = self._last = self._last_start = None
        self._busy_s = self._busy_queued_s = 0.0
        self._at_first = 0.0  # idle worker-seconds until every worker was busy for the first time
        self._filled = False

    def change(self, now: float, by: int) -> None:
        """A worker starts (1) or ends (-1) a proof."""
        if self._first is None:
            self._first = now
        else:
            self._busy_s += self._busy * (now - self._last)
            if self._started < self._expected:
                self._busy_queued_s += self._busy * (now - self._last)
            if not self._filled:
                self._at_first += (self._workers - self._busy) * (now - self._last)
        self._last = now
        self._busy += by
        self._filled = self._filled or self._busy == self._workers
        if by > 0:
            self._started += 1
            if self._started == self._expected:
                self._last_start = now
        else:
            self._done += 1

    def told(self) -> dict:
        span = (self._last or 0) - (self._first or 0)
        queued = (self._last_start or self._last or 0) - (self._first or 0)
        return {
            "proofs": self._done,
            "span_s": span,
            "queued_s": queued,
            "utilisation": self._busy_s / (self._workers * span) if span else 0.0,
            "utilisation_while_queued": self._busy_queued_s / (self._workers * queued) if queued else 0.0,
            "idle_worker_s_at_first": self._at_first,
            "idle_worker_s_while_queued": self._workers * queued - self._busy_queued_s,
        }


class Workers:
    """The workers of one server, and the proofs that wait for them."""

    def __init__(self, count: int, service_s: float, record: Record) -> None:
        self._loop = asyncio.get_running_loop()
        self._free, self._service_s, self._record = count, service_s, record
        self._waiting: deque = deque()

    def put(self, code: str, done) -> None:
        if "#version" in code:
            done(0.0)
        elif self._free:
            self._start(code, done)
        else:
            self._waiting.append((code, done))

    def _start(self, code: str, done) -> None:
        self._free -= 1
        self._record.change(self._loop.time(), 1)
        seconds = self._service_s * share(code)
        self._loop.call_later(seconds, self._end, seconds, done)

    def _end(self, seconds: float, done) -> None:
        self._free += 1
        self._record.change(self._loop.time(), -1)
        if self._waiting:
            self._start(*self._waiting.popleft())
        done(seconds)


def reply(snippet: dict, seconds: float) -> dict:
    """What a server says of a proof of ``t`` (or of the question about its version)."""
    lines = snippet["code"].splitlines()
    last = len(lines) - sum(line.startswith("import ") for line in lines)
    text = "Lean 4.15.0" if "#version" in snippet["code"] else "'t' does not depend on any axioms"
    position = {"line": last, "column": 0}
    message = {"severity": "info", "pos": position, "endPos": position, "data": text}
    return {"id": snippet["id"], "time": seconds, "response": {"env": 0, "messages": [message]}}


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection; one request at a time, as clients send them."""

    def __init__(self, workers: Workers, record: Record) -> None:
        self._workers, self._record = workers, record
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found:
            return
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        if len(body) < length:
            return
        self._read = b""
        path = head.split(b" ", 2)[1].decode()
        if path.startswith("/reset/"):
            self._record.reset(int(path.removeprefix("/reset/")))
            self._send({})
        elif path == "/stats":
            self._send(self._record.told())
        else:
            self._check(json.loads(body)["snippets"])

    def _check(self, snippets: list[dict]) -> None:
        results: list[dict | None] = [None] * len(snippets)
        missing = len(snippets)

        def done(index: int, seconds: float) -> None:
            nonlocal missing
            results[index] = reply(snippets[index], seconds)
            missing -= 1
            if not missing:
                self._send({"results": results})

        for index, snippet in enumerate(snippets):
            self._workers.put(snippet["code"], lambda seconds, index=index: done(index, seconds))

    def _send(self, answer: dict) -> None:
        body = json.dumps(answer).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        if not self._transport.is_closing():
            self._transport.write(head + body)


async def serve(servers: int, workers: int, service_s: float) -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    record = Record(servers * workers)
    ports = []
    for _ in range(servers):
        pool = Workers(workers, service_s, record)
        server = await loop.create_server(lambda pool=pool: Connection(pool, record), "127.0.0.1", 0, backlog=1024)
        ports.append(server.sockets[0].getsockname()[1])
    print(json.dumps(ports), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--workers", type=int, default=60, help="of each server")
    parser.add_argument("--service-s", type=float, default=0.3, help="mean time of a proof in s")
    options = parser.parse_args()
    asyncio.run(serve(options.servers, options.workers, options.service_s))


if __name__ == "__main__":
    main()
