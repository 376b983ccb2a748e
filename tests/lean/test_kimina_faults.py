"""``verifier=kimina`` between servers that fail in every way that networks and servers know.

A loopback server speaks the Kimina Lean server's protocol and misbehaves by plan. Whatever it does, a proof ends with its
true verdict or ``unverified``; each exactly once, and within the deadline.
"""

import asyncio
import collections
import json
import logging
import socket
import threading
import time
from collections.abc import Callable

import pytest

from kimina.errors import InfrastructureError, UserError
from kimina.experiment.machine import check_verifier
from kimina.lean.kimina_server import KiminaServerVerifier
from kimina.lean.verdict import CheckRequest, Verdict
from kimina.lean.verifier import make_verifier

PROOFS = 2000
SLACK_S = 10.0  # what a loaded machine may add to a deadline
QUICK = {"first_pause_s": 0.004, "answer_s": 0.15, "timeout_s": 1.0, "deadline_s": 60.0, "concurrency": 8, "seed": 1}


class FaultyServer:
    """Answers truly (a text with ``-- right`` proves ``t``), but first asks ``plan`` what to do with each request.

    ``plan(number, codes)`` gives the name of a fault or ``None``; ``number`` counts the requests that hold proofs.
    Questions about the version are answered truly while ``healthy_probes``, else they suffer from ``plan`` too (number 0).
    """

    def __init__(
        self, plan: Callable[[int, list[str]], str | None] = lambda number, codes: None, version: str | None = "4.15.0",
        healthy_probes: bool = True, delay_s: float = 0.0,
    ) -> None:  # fmt: skip
        self.plan, self.version, self.healthy_probes, self.delay_s = plan, version, healthy_probes, delay_s
        self.requests = 0
        self.sizes: list[int] = []
        self.judged: collections.Counter[str] = collections.Counter()
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> "FaultyServer":
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.start()
        return self

    def __exit__(self, *error) -> None:
        self.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
            self.loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        self.loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result()

    def stop(self) -> None:
        """Refuse connections from now on, and break those that exist."""
        asyncio.run_coroutine_threadsafe(self._close(), self.loop).result()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _restart(self) -> None:
        await self._close()
        await asyncio.sleep(0.05)
        await self._listen()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                body = json.loads(await reader.readexactly(int(length.split(b":")[1])))
                await self._answer(body["snippets"], head.decode(), writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, snippets: list[dict], head: str, writer: asyncio.StreamWriter) -> None:
        codes = [snippet["code"] for snippet in snippets]
        if "#version" in codes[0]:
            fault = None if self.healthy_probes else self.plan(0, codes)
        else:
            self.requests += 1
            self.sizes.append(len(codes))
            fault = self.plan(self.requests, codes)
            await asyncio.sleep(self.delay_s)
        results = [self._judge(snippet) for snippet in snippets]
        status, cut, broken = 200, None, False
        match fault:
            case None:
                pass
            case "hang":
                await asyncio.sleep(3600)
            case "reset":
                writer.transport.abort()
                return
            case "reset in mid-reply":
                cut, broken = 0.5, True
            case "429":
                status = 429
            case "500":
                status = 500
            case "restart":
                self.loop.create_task(self._restart())
                await asyncio.sleep(3600)
            case "wrong ids":
                results = [result | {"id": f"other-{result['id']}"} for result in results]
            case "reordered and missing":
                results = results[::-1][: len(results) // 2]
            case "duplicates that differ":
                results = results + [self._contrary(result) for result in results]
            case "malformed entries":
                results = [result | {"response": {"env": 0, "messages": 7}} for result in results]
            case "server errors":
                results = [{"id": result["id"], "time": 0.0, "error": "REPL exited"} for result in results]
            case "no room":
                results = [{"id": result["id"], "time": 0.0, "error": "No available REPLs"} for result in results]
            case "garbage" | "half a JSON":
                pass
            case _:
                raise AssertionError(fault)
        body = json.dumps({"results": results} if status == 200 else {"detail": f"not now: {head}"}).encode()
        if fault == "garbage":
            body = b"\xff\x00<html>" * 20
        if fault == "half a JSON":
            body = body[: len(body) // 2]
        if fault is None and "#version" not in codes[0]:
            self.judged.update(codes)  # before the client can know
        writer.write(b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(body)))
        writer.write(body[: int(len(body) * cut)] if cut else body)
        if broken:
            await writer.drain()
            writer.transport.abort()

    def _judge(self, snippet: dict) -> dict:
        code = snippet["code"]
        lines = code.splitlines()
        last = len(lines) - sum(line.startswith("import ") for line in lines)
        if "#version" in code:
            told = [_message("info", last - 1, f"Lean {self.version}\nTarget: x86_64")] if self.version else []
            return _reply(snippet["id"], [*told, _message("error", last, "Unknown identifier `Lean.versionString`")])
        if "-- right" in code:
            return _reply(snippet["id"], [_message("info", last, "'t' does not depend on any axioms")])
        return _reply(snippet["id"], [_message("error", last - 1, "unsolved goals")])

    @staticmethod
    def _contrary(result: dict) -> dict:
        last = result["response"]["messages"][0]["pos"]["line"]
        return result | {"response": {"env": 0, "messages": [_message("error", last - 1, "something else")]}}


def _message(severity: str, line: int, text: str) -> dict:
    return {"severity": severity, "pos": {"line": line, "column": 0}, "endPos": None, "data": text}


def _reply(id_: str, messages: list[dict]) -> dict:
    return {"id": id_, "time": 0.01, "response": {"env": 0, "messages": messages}}


def proof(index: int, extra: str = "") -> CheckRequest:
    right = "right" if index % 3 else "wrong"
    return CheckRequest(str(index), f"theorem t : {index} = {index} := by\n  rfl -- {right}{extra}", "t")


def truth(request: CheckRequest) -> Verdict:
    return Verdict.PROVED if "-- right" in request.code else Verdict.LEAN_ERROR


def check_all(verifier, requests: list[CheckRequest], deadline_s: float = QUICK["deadline_s"]) -> int:
    """Check everything that must hold whatever happens; return the number of unverified proofs."""
    calls: collections.Counter[str] = collections.Counter()
    started = time.monotonic()
    results = verifier.check(requests, lambda result: calls.update([result.id]))
    assert time.monotonic() - started < deadline_s + SLACK_S
    assert [result.id for result in results] == [request.id for request in requests]
    assert calls == collections.Counter(request.id for request in requests)
    wrong = [
        result
        for request, result in zip(requests, results, strict=True)
        if result.verdict not in (truth(request), Verdict.UNVERIFIED)
    ]
    assert not wrong
    assert all(result.detail for result in results if result.verdict is Verdict.UNVERIFIED)
    return sum(result.verdict is Verdict.UNVERIFIED for result in results)


def kimina(*servers: FaultyServer, **settings) -> KiminaServerVerifier:
    return KiminaServerVerifier([server.url for server in servers], **QUICK | settings)


BATCH = [proof(index) for index in range(PROOFS)]

PLANS = {
    "none": lambda number, codes: None,
    "refused for a while": None,
    "reset": lambda number, codes: "reset" if number % 4 == 1 else None,
    "reset in mid-reply": lambda number, codes: "reset in mid-reply" if number % 4 == 1 else None,
    "429 for a while": lambda number, codes: "429" if 10 < number < 60 else None,
    "no room for a while": lambda number, codes: "no room" if 10 < number < 60 else None,
    "500 on every third call": lambda number, codes: "500" if number % 3 == 0 else None,
    "hang": lambda number, codes: "hang" if number % 40 == 5 else None,
    "garbage": lambda number, codes: "garbage" if number % 4 == 1 else None,
    "half a JSON": lambda number, codes: "half a JSON" if number % 4 == 1 else None,
    "wrong ids": lambda number, codes: "wrong ids" if number % 4 == 1 else None,
    "reordered and missing": lambda number, codes: "reordered and missing" if number % 4 == 1 else None,
    "duplicates that differ": lambda number, codes: "duplicates that differ" if number % 4 == 1 else None,
    "malformed entries": lambda number, codes: "malformed entries" if number % 4 == 1 else None,
    "server errors": lambda number, codes: "server errors" if number % 4 == 1 else None,
    "restart in mid-batch": lambda number, codes: "restart" if number in (20, 100) else None,
    "everything": lambda number, codes: (
        ("reset", "429", "500", "garbage", "half a JSON", "wrong ids", "reordered and missing", "duplicates that differ")
        [number // 4 % 8] if number % 4 == 1 else None
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANS)
def test_a_fault_that_passes_costs_no_verdict(fault):
    with FaultyServer(PLANS[fault] or PLANS["none"]) as server, kimina(server) as verifier:
        if PLANS[fault] is None:
            assert verifier.lean_version == "4.15.0"
            server.stop()
            threading.Timer(0.2, server.start).start()
        lost = check_all(verifier, BATCH)
    # Each try of a proof meets the fault by chance, so that one may meet it every time.
    assert lost <= PROOFS // 200


LASTING = ("reset", "reset in mid-reply", "429", "no room", "500", "hang", "garbage", "half a JSON", "wrong ids",
           "duplicates that differ", "malformed entries", "server errors")  # fmt: skip


@pytest.mark.parametrize("probes", ["healthy probes", "probes suffer too"])
@pytest.mark.parametrize("fault", LASTING)
def test_a_fault_that_lasts_ends_unverified_within_the_deadline(fault, probes):
    if (fault, probes) in (("wrong ids", "probes suffer too"), ("malformed entries", "probes suffer too")):
        probes = "healthy probes"  # these two spoil the answer about the version, which isn't needed
    plan = FaultyServer(lambda number, codes: fault, healthy_probes=probes == "healthy probes")
    with plan as server, kimina(server, deadline_s=0.5) as verifier:
        assert check_all(verifier, BATCH[:200], deadline_s=0.5) == 200
        assert not server.judged
    [held] = verifier._dispatcher.servers
    assert (held.health.proofs, held.health.requests) == (0, 0)


def test_refused_connections_end_soon_where_nothing_ever_answered():
    with FaultyServer() as server:
        server.stop()
        with kimina(server) as verifier:
            assert check_all(verifier, BATCH, deadline_s=1.0) == PROOFS
            assert verifier.lean_version == "unknown"
            result = verifier.check([proof(1)])[0]
            assert server.url in result.detail and "no connection" in result.detail


@pytest.mark.parametrize("fault", ["refused", *LASTING])
def test_the_healthy_one_of_two_servers_does_everything(fault):
    plan = FaultyServer(lambda number, codes: fault)
    with plan as sick, FaultyServer() as healthy, kimina(sick, healthy) as verifier:
        if fault == "refused":
            sick.stop()
        assert check_all(verifier, BATCH[:500]) == 0
        assert len(healthy.judged) == 500


def test_a_slow_server_does_not_hold_up_a_fast_one():
    with FaultyServer(delay_s=0.1) as slow, FaultyServer() as fast, kimina(slow, fast, batch_size=2) as verifier:
        assert check_all(verifier, BATCH[:500]) == 0
        assert slow.judged.total() < fast.judged.total()


def test_a_server_that_comes_back_is_used_again():
    with FaultyServer() as server, kimina(server) as verifier:
        assert check_all(verifier, BATCH[:10]) == 0
        server.stop()
        waiting = threading.Thread(target=check_all, args=(verifier, BATCH[10:20]))
        waiting.start()
        while verifier._dispatcher.servers[0].health.open:
            threading.Event().wait(0.001)
        server.start()
        waiting.join()
        assert len(server.judged) == 20
    with FaultyServer() as first, FaultyServer() as second, kimina(first, second) as verifier:
        assert check_all(verifier, BATCH[:10]) == 0
        first.stop()
        assert check_all(verifier, BATCH[10:50]) == 0
        first.start()
        before = first.judged.total()
        fresh = iter(range(PROOFS, 10**9))
        while first.judged.total() == before:
            assert check_all(verifier, [proof(next(fresh)) for _ in range(40)]) == 0


def test_one_proof_that_breaks_every_request_is_isolated():
    def plan(number, codes):
        return "500" if any("poison" in code for code in codes) else None

    requests = [*BATCH[:300], proof(1, " poison"), *BATCH[300:600]]
    requests[300] = CheckRequest("poison", requests[300].code, "t")
    with FaultyServer(plan) as server, kimina(server) as verifier:
        assert check_all(verifier, requests) == 1
        result = verifier.check([requests[300]])[0]
        assert result.verdict is Verdict.UNVERIFIED and "HTTP 500" in result.detail and "8 tries" in result.detail


def test_a_proof_that_a_server_never_answers_ends_and_others_do_not():
    def plan(number, codes):
        return "hang" if any("poison" in code for code in codes) else None

    with FaultyServer(plan) as server, kimina(server, answer_s=0.03) as verifier:
        assert check_all(verifier, [*BATCH[:50], CheckRequest("poison", proof(1, " poison").code, "t")]) == 1


def test_the_window_shrinks_to_what_the_server_takes():
    limit = 6

    class Narrow(FaultyServer):
        holding = 0

        async def _answer(self, snippets, head, writer):
            self.holding += len(snippets)
            await asyncio.sleep(0.002)
            crowded = self.holding > limit
            self.plan = (lambda number, codes: "429") if crowded else (lambda number, codes: None)
            try:
                await super()._answer(snippets, head, writer)
            finally:
                self.holding -= len(snippets)

    with Narrow() as server, kimina(server, concurrency=64, batch_size=1) as verifier:
        health = verifier._dispatcher.servers[0].health
        assert health.window == 64
        assert check_all(verifier, BATCH[:500]) == 0
        assert health.window < 16


def test_the_last_proofs_are_spread_over_servers():
    with FaultyServer() as first, FaultyServer() as second, FaultyServer() as third:
        with kimina(first, second, third, concurrency=4) as verifier:
            assert verifier.lean_version == "4.15.0"  # all of them have answered
            assert check_all(verifier, BATCH[:12]) == 0
            assert [server.sizes for server in (first, second, third)] == [[1] * 4] * 3


def test_callers_in_one_process_share_batches():
    async def everybody(verifier):
        return await asyncio.gather(*(verifier.check_one(request) for request in BATCH[:64]))

    with FaultyServer(delay_s=0.01) as server, kimina(server, concurrency=4, batch_size=8) as verifier:
        assert verifier.lean_version == "4.15.0"
        results = asyncio.run(everybody(verifier))
        assert [result.verdict for result in results] == [truth(request) for request in BATCH[:64]]
        assert len(server.sizes) < 32


def test_a_proof_that_repeats_is_sent_once():
    with FaultyServer() as server, kimina(server) as verifier:
        assert check_all(verifier, [CheckRequest(str(index), BATCH[index % 50].code, "t") for index in range(100)]) == 0
        assert set(server.judged.values()) == {1} and len(server.judged) == 50


def test_closing_ends_what_is_under_way_and_leaves_nothing_open():
    before = threading.active_count()
    with FaultyServer(lambda number, codes: "hang") as server:
        verifier = kimina(server, answer_s=60)
        results: list = []
        asking = threading.Thread(target=lambda: results.extend(verifier.check(BATCH[:100])))
        asking.start()
        while not server.requests:
            threading.Event().wait(0.001)
        verifier.close()
        asking.join()
        verifier.close()
        assert {result.verdict for result in results} == {Verdict.UNVERIFIED}
        assert verifier.check(BATCH[:1])[0].verdict is Verdict.UNVERIFIED
    assert threading.active_count() == before


# Which Lean


def test_the_servers_version_is_in_every_result():
    with FaultyServer(version="4.15.0-rc1") as server, kimina(server) as verifier:
        results = verifier.check(BATCH[:5])
        assert {result.lean_version for result in results} == {verifier.lean_version} == {"4.15.0-rc1"}
    with FaultyServer(version="4.9.0") as server, kimina(server, lean_version="4.9.0") as verifier:
        assert check_all(verifier, BATCH[:5]) == 0


def test_a_server_that_does_not_tell_its_version_is_used():
    with FaultyServer(version=None) as server, kimina(server) as verifier:
        assert check_all(verifier, BATCH[:5]) == 0
        assert verifier.lean_version == "unknown"


def test_another_version_than_the_configured_one_is_refused():
    with FaultyServer(version="4.9.0") as server:
        with kimina(server, lean_version="4.15.0") as verifier:
            for _ in range(2):
                with pytest.raises(InfrastructureError, match=r"verifier\.lean_version=4\.15\.0.*4\.9\.0"):
                    verifier.check(BATCH[:5])
            with pytest.raises(InfrastructureError):
                _ = verifier.lean_version
        assert not server.judged
        settings = {"name": "kimina", "urls": [server.url], "lean_version": "4.15.0"}
        with pytest.raises(InfrastructureError, match=r"lean_version=4\.9\.0"):
            check_verifier(settings)


def test_servers_with_different_versions_are_refused():
    with FaultyServer(version="4.9.0") as old, FaultyServer(version="4.15.0") as new:
        with pytest.raises(InfrastructureError, match="different versions") as refusal:
            check_verifier({"name": "kimina", "urls": [old.url, new.url], "deadline_s": None})
        assert old.url in str(refusal.value) and new.url in str(refusal.value)


def test_a_server_that_comes_back_with_another_version_is_refused():
    def plan(number, codes):
        if number == 2:
            server.version = "4.16.0"
        return "restart" if number == 2 else None

    with FaultyServer(plan) as server, kimina(server) as verifier:
        assert check_all(verifier, BATCH[:1]) == 0
        with pytest.raises(InfrastructureError, match=r"ran Lean 4\.15\.0 and now runs Lean 4\.16\.0"):
            for request in BATCH[1:]:
                verifier.check([request])


def test_canaries_of_a_dead_server_say_so():
    with FaultyServer() as server:
        server.stop()
        with pytest.raises(InfrastructureError, match=f"{server.url}.*no connection"):
            make = {"name": "kimina", "urls": [server.url], "deadline_s": 0.3}
            check_verifier(make)


# The key


def test_the_key_is_in_no_detail_and_no_log(monkeypatch, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", "s3cret-key\n")
    with FaultyServer(lambda number, codes: "500") as server:
        with kimina(server, api_key_env="MY_KEY", deadline_s=0.2) as verifier:
            result = verifier.check(BATCH[:1])[0]
            assert "not now" in result.detail and "authorization" in result.detail.lower()  # the server repeats it
            shown = capsys.readouterr()
            told = (result.detail, repr(verifier), repr(vars(verifier)), caplog.text, shown.out, shown.err)
            assert not any("s3cret" in text for text in told)


def test_no_other_key_than_the_named_one_is_sent(monkeypatch):
    monkeypatch.setenv("LEAN_SERVER_API_KEY", "s3cret-key")
    with FaultyServer(lambda number, codes: "500") as server:
        with kimina(server, api_key_env=None, deadline_s=0.2) as verifier:
            assert "authorization" not in verifier.check(BATCH[:1])[0].detail.lower()


def test_a_key_that_cannot_be_one_or_stands_in_an_address_is_refused_without_repeating_it(monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret\nkey")
    with pytest.raises(UserError, match="MY_KEY") as refusal:
        KiminaServerVerifier(["http://a"], api_key_env="MY_KEY")
    assert "s3cret" not in str(refusal.value)
    with pytest.raises(UserError, match=r"verifier\.api_key_env") as refusal:
        make_verifier({"name": "kimina", "urls": ["http://me:s3cret@a"]})
    assert "s3cret" not in str(refusal.value)


def test_sockets_are_closed():
    def open_sockets() -> int:
        import psutil

        return len(psutil.Process().net_connections(kind="tcp"))

    with FaultyServer() as server:
        before = open_sockets()
        with kimina(server) as verifier:
            check_all(verifier, BATCH[:100])
        with socket.create_connection(("127.0.0.1", server.port)):
            pass
        for _ in range(1000):
            if open_sockets() <= before:
                break
            threading.Event().wait(0.005)
        assert open_sockets() <= before
