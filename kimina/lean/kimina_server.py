"""``verifier=kimina``: judges on one or several Kimina Lean servers.

The requests of all callers in a process are sent together, and answers joined by id. Whatever goes wrong between us and
Lean (unreachable, overloaded, silent, malformed, missing) is tried again, elsewhere where there are several servers, up to
a deadline of our own, and ends as ``UNVERIFIED``: an outage is never scored as a wrong proof. How: ``kimina_service``.
"""

import asyncio
import os
import random
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from kimina.errors import InfrastructureError, UserError
from kimina.lean.kimina_client_compat import import_kimina_client
from kimina.lean.kimina_service.dispatch import Callbacks, Dispatcher, Server
from kimina.lean.kimina_service.health import Health
from kimina.lean.kimina_service.version import QUESTION, Agreement, read_version
from kimina.lean.kimina_service.wire import Trouble, TroubleKind, Wire
from kimina.lean.remembering import RememberingVerifier
from kimina.lean.report import compose_with_query, judge_reply, refuse_text, unverified
from kimina.lean.snippet import position
from kimina.lean.threaded import positive
from kimina.lean.verdict import CheckRequest, CheckResult, Message, Verdict
from kimina.lean.verdict_cache import UNKNOWN_VERSION

HEADER = """\
import Mathlib
import Aesop
set_option maxHeartbeats 400000
set_option autoImplicit false
set_option relaxedAutoImplicit false
"""
MODULES = frozenset(
    {"Init", "Lean", "Std", "Mathlib", "Aesop", "Batteries", "Qq", "ProofWidgets", "Plausible", "ImportGraph",
     "LeanSearchClient"}
)  # fmt: skip
OFFER = "The Kimina Lean server has Mathlib and what Mathlib depends on."
_FIRST_PAUSE_S = 0.5
# Beyond Lean's own limit: the server lets a proof wait for a worker (60 s by default) and imports Mathlib when it must.
_ANSWER_SLACK_S = 120
# Proofs come in bursts, and the rest of a burst is a moment away.
_GATHER_S = 0.002
# How long the first server's word on the Lean version waits for slower servers to contradict it, in first pauses.
_OTHERS = 10
_OTHER_LINE_ENDS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]|\r(?!\n)")
"""Where Python ends a line and Lean does not."""
_NO_ROOM = re.compile(r"\bno available REPL", re.IGNORECASE)
"""A proof's error where the server has no worker for it; most versions answer with the status 429 instead."""


class KiminaServerVerifier(RememberingVerifier):
    """Judges proofs on Kimina Lean servers; see ``kimina.lean.verifier.Verifier`` for the interface.

    ``timeout_s`` is Lean's time for one proof, ``deadline_s`` ours, from handing it in to its verdict, with all waiting
    and retrying (``None``: no limit). ``batch_size`` is the largest number of proofs in a request, ``concurrency`` the
    largest number of requests under way at each of ``urls``; how much of that a server gets depends on how it copes. The
    key, if the servers want one, is read from the environment variable ``api_key_env``. ``lean_version`` is what the
    servers must run, ``None`` takes what they say; ``proofs_per_second`` is for planning only. With ``goals`` the servers
    are asked for info trees, which give an error message the goals before it; that costs them time and the network bytes.

    For tests: ``first_pause_s`` is the unit of all pauses, ``answer_s`` the time after which a request without an answer
    is given up, ``seed`` makes the jitter of pauses repeatable (it differs between processes otherwise).

    Raises ``UserError`` for settings that cannot work. A server that cannot be reached is no error here; servers that run
    different versions of Lean, or another than ``lean_version``, are: ``check`` and the attribute ``lean_version`` raise
    ``InfrastructureError`` as soon as it is known.
    """

    OPTIONS = (
        "urls", "timeout_s", "deadline_s", "batch_size", "concurrency", "api_key_env", "lean_version",
        "proofs_per_second", "cache_size", "cache", "goals",
    )  # fmt: skip

    def __init__(
        self,
        urls: Sequence[str],
        timeout_s: float = 60.0,
        deadline_s: float | None = 1800.0,
        batch_size: int = 8,
        concurrency: int = 64,
        api_key_env: str | None = "LEAN_SERVER_API_KEY",
        lean_version: str | None = None,
        proofs_per_second: float | None = None,
        cache_size: int = 50_000,
        cache: str | None = None,
        goals: bool = False,
        first_pause_s: float = _FIRST_PAUSE_S,
        answer_s: float | None = None,
        seed: int | None = None,
    ) -> None:
        positive(timeout_s=timeout_s, batch_size=batch_size, concurrency=concurrency)
        if deadline_s is not None:
            positive(deadline_s=deadline_s)
        urls = _addresses(urls)
        answer_s = timeout_s + _ANSWER_SLACK_S if answer_s is None else answer_s
        import_kimina_client()  # here, so that the caller learns when it is missing
        super().__init__(cache_size, cache, limits={"timeout_s": timeout_s}, goals=goals)
        self.header = HEADER
        self._timeout_s = timeout_s
        self._tree = "tactics" if goals else None
        self._others_s = _OTHERS * first_pause_s
        self._agreement = Agreement(lean_version)
        self._objection: str | None = None
        self._settled = threading.Event()  # the question which Lean the servers run has its answer, or has none
        self._inbox: deque[CheckRequest] = deque()
        self._woken = False
        self._loop = asyncio.new_event_loop()
        key = _key(api_key_env)
        servers = [Server(Wire(url, key, answer_s), Health(concurrency, batch_size)) for url in urls]
        callbacks = Callbacks(self._ask, self._probe, self._take_result, self._fail, self._contacted)
        rng = random.Random(os.getpid() if seed is None else seed)
        self._dispatcher = Dispatcher(self._loop, servers, callbacks, batch_size, deadline_s, first_pause_s, rng)
        self._thread = threading.Thread(target=self._run, name="kimina-server", daemon=True)
        self._thread.start()

    @property
    def lean_version(self) -> str:
        """What the servers run. The first reader waits until one has answered or all seem absent (then ``unknown``)."""
        if not self._settled.is_set() and not self._closed and threading.current_thread() is not self._thread:
            self._loop.call_soon_threadsafe(self._ask_versions)
            self._settled.wait()
        if self._objection is not None:
            raise InfrastructureError(self._objection)
        return self._version_so_far()

    def _version_so_far(self) -> str:
        return self._agreement.version or UNKNOWN_VERSION

    def check(
        self, requests: Sequence[CheckRequest], on_result: Callable[[CheckResult], None] | None = None
    ) -> list[CheckResult]:
        """Judge all requests; see ``Verifier.check``. Raises ``InfrastructureError`` for servers with another Lean."""
        if self._cache_thread is not None:
            _ = self.lean_version  # without it the cache on disk can't be asked
        results = super().check(requests, on_result)
        if any(result.verdict is not Verdict.UNVERIFIED for result in results):
            _ = self.lean_version  # raises; a small first batch may end before the last server has told its version
        return results

    # What RememberingVerifier asks for

    def _refuse(self, request: CheckRequest) -> CheckResult | None:
        if refusal := refuse_text(request, MODULES, OFFER, self._version_so_far()):
            return refusal
        # The server reads a text line by line with Python and joins the lines with line feeds. What stands behind such
        # a character in a comment would be live code there, unseen by everything that has examined the text.
        if found := _OTHER_LINE_ENDS.search(request.code):
            text = f"the character U+{ord(found[0]):04X} ends a line for the server, and not for Lean"
            line, column = position(request.code, found.start())
            message = Message("error", line, column, None, None, text)
            detail = f"line {line}: {text}"
            return CheckResult(request.id, Verdict.LEAN_ERROR, (message,), 0.0, detail, None, self._version_so_far())
        return None

    def _unverified(self, request: CheckRequest, detail: str) -> CheckResult:
        return unverified(request, detail, 0.0, self._version_so_far())

    def _enqueue(self, request: CheckRequest) -> None:
        self._inbox.append(request)
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._loop.call_later, _GATHER_S, self._take_inbox)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    # In the thread of the event loop

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(self._on_loop_error)
        self._loop.run_forever()
        reason = "the verifier was closed"
        self._loop.run_until_complete(self._dispatcher.stop(reason))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        while self._inbox:
            request = self._inbox.popleft()
            self._finish(request, self._unverified(request, reason))
        self._settled.set()

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict) -> None:
        loop.default_exception_handler(context)
        if "handle" in context and (error := context.get("exception")):
            # A mistake of ours in a callback: somebody would wait for ever, so everybody gets the error.
            self._dispatcher.fail_all(lambda: error)

    def _take_inbox(self) -> None:
        self._woken = False
        requests = []
        while self._inbox:
            requests.append(self._inbox.popleft())
        if self._objection is None:
            self._dispatcher.add(requests)
            return
        for request in requests:
            self._fail(request, InfrastructureError(self._objection))

    def _take_result(self, request: CheckRequest, result: Verdict | CheckResult, detail: str) -> None:
        self._finish(request, result if isinstance(result, CheckResult) else self._unverified(request, detail))

    async def _ask(self, wire: Wire, requests: Sequence[CheckRequest]) -> list[CheckResult]:
        snippets = [compose_with_query(self.header, request) for request in requests]
        replies = await wire.check([snippet.text for snippet in snippets], self._timeout_s, self._tree)
        if all(reply is not None and _NO_ROOM.search(reply["error"] or "") for reply in replies):
            raise Trouble(TroubleKind.OVERLOADED, f"{wire.url}: {replies[0]['error']}"[:300])
        if all(reply is None for reply in replies):
            raise Trouble(TroubleKind.BROKEN, f"{wire.url}: no usable answer for this proof")
        # The server takes the imports at the top for its own header and counts lines from behind them.
        imports = sum(line.startswith("import ") for line in self.header.splitlines())
        return [
            judge_reply(
                reply, reply["id"], request,
                first_line=snippet.first_line - imports,
                # The server breaks lines at every character that Unicode calls a line break, and so must we.
                query_line=len(snippet.text.splitlines()) - imports,
                lean_version=self._version_so_far(),
            )
            if reply is not None
            else self._unverified(request, f"{wire.url}: no usable answer for this proof")
            for request, snippet, reply in zip(requests, snippets, replies, strict=True)
        ]  # fmt: skip

    async def _probe(self, wire: Wire) -> None:
        (reply,) = await wire.check([self.header + QUESTION], self._timeout_s)
        version = read_version(reply)
        if version is None:
            return  # it speaks the protocol, and what it makes of proofs will be seen
        objection = self._agreement.add(wire.url, version)
        if objection is not None:
            self._objection = objection
            self._settled.set()
            self._dispatcher.fail_all(lambda: InfrastructureError(objection))

    def _ask_versions(self) -> None:
        self._dispatcher.curious = not self._settled.is_set()
        self._dispatcher.contact()

    def _contacted(self) -> None:
        servers = self._dispatcher.servers
        answered = any(server.health.answered for server in servers)
        told = all(server.health.answered or server.health.rests for server in servers)
        if (answered and told) or all(server.health.absent for server in servers):
            self._settled.set()
            self._dispatcher.curious = False
        elif answered and not self._settled.is_set():
            self._loop.call_later(self._others_s, self._settled.set)


def _addresses(urls: Sequence[str]) -> list[str]:
    advice = "Type: verifier.urls='[\"http://HOST:8000\"]'"
    if isinstance(urls, str) or not urls or not all(url.startswith(("http://", "https://")) for url in urls):
        raise UserError(f"verifier.urls must be a list of addresses, not {urls!r}. {advice}")
    if any(urlsplit(url).username or urlsplit(url).password for url in urls):
        # Not repeated here: it would stand in the log.
        raise UserError(
            "verifier.urls holds a user name or password. A key is read from the environment variable that"
            f" verifier.api_key_env names. {advice}"
        )
    return list(dict.fromkeys(url.rstrip("/") for url in urls))


def _key(name: str | None) -> str | None:
    """The key in the environment variable ``name``, which no message repeats."""
    key = os.environ.get(name, "").strip() if name else ""
    if not key.isascii() or not key.isprintable():
        raise UserError(f"the key in the environment variable {name} has characters that a key can't have.")
    return key or None
