"""What all verifiers share: identical proofs are checked once, verdicts are remembered, anybody may wait for them.

A verdict is looked for in memory, then among the checks that are under way, then, where the verifier has one, in the
verification cache on disk (``kimina.lean.verdict_cache``).
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from kimina.lean.cache_thread import CacheThread
from kimina.lean.verdict import CheckRequest, CheckResult, Verdict
from kimina.lean.verdict_cache import UNKNOWN_VERSION, Conditions, VerdictCache, cache_file

_Key = tuple[str, str]


@dataclass
class CheckCounts:
    """How the requests to a verifier were answered: ``asked`` in all, of these from memory, from the verification cache,
    by a check that was already under way, and by a refusal before Lean. The rest went to Lean."""

    asked: int = 0
    from_memory: int = 0
    from_cache: int = 0
    joined: int = 0
    refused: int = 0

    @property
    def reused(self) -> int:
        """Requests that an earlier check answered."""
        return self.from_memory + self.from_cache + self.joined


class RememberingVerifier(ABC):
    """A ``Verifier`` whose subclass only has to queue new proofs (``_enqueue``) and report on them (``_finish``).

    The last ``cache_size`` verdicts are kept in memory, by theorem name and exact text: header and Lean version are
    fixed for a verifier. With ``cache`` (a path or ``auto``) all verdicts of Lean are kept on disk too, for other
    processes and later runs; ``environment``, ``limits`` and ``goals`` are then what they stand on, see
    ``kimina.lean.verdict_cache.Conditions``. Disk and memory never hold ``UNVERIFIED``, and the disk nothing while the
    Lean version is ``unknown``.
    """

    header: str
    lean_version: str

    def __init__(
        self,
        cache_size: int,
        cache: str | None = None,
        *,
        environment: str = "",
        limits: Mapping[str, float] | None = None,
        goals: bool = False,
    ) -> None:
        self.counts = CheckCounts()
        self._cache_size = cache_size
        self._environment = f"{type(self).__name__} {environment}"
        self._limits = dict(limits or {})
        self._goals = goals
        self._conditions: Conditions | None = None
        self._cache_thread = CacheThread(VerdictCache(cache_file(cache))) if cache is not None else None
        self._known: OrderedDict[_Key, CheckResult] = OrderedDict()
        self._running: dict[_Key, Future[CheckResult]] = {}
        self._lock = threading.Lock()
        self._closed = False

    @abstractmethod
    def _enqueue(self, request: CheckRequest) -> None:
        """Have ``request`` judged; ``_finish`` must be called with its result, or ``_fail``, whatever happens."""

    @abstractmethod
    def _stop(self) -> None:
        """End all work; every queued request is finished when this returns."""

    def _refuse(self, request: CheckRequest) -> CheckResult | None:
        """A verdict that needs no Lean, or ``None``."""
        return None

    def _version_so_far(self) -> str:
        """The Lean version, or ``unknown``; never waits, for it is asked with the lock held."""
        return self.lean_version

    def check(
        self, requests: Sequence[CheckRequest], on_result: Callable[[CheckResult], None] | None = None
    ) -> list[CheckResult]:
        """Judge all requests; see ``Verifier.check``."""
        futures = [self._submit(request, waits=True) for request in requests]
        if on_result is not None:
            waiting: dict[Future[CheckResult], list[str]] = {}
            for request, future in zip(requests, futures, strict=True):
                waiting.setdefault(future, []).append(request.id)
            for future in as_completed(waiting):
                for request_id in waiting[future]:
                    on_result(replace(future.result(), id=request_id))
        return [replace(future.result(), id=request.id) for request, future in zip(requests, futures, strict=True)]

    async def check_one(self, request: CheckRequest) -> CheckResult:
        """Judge one request; see ``Verifier.check_one``. Cancelling one caller leaves other callers' checks alone."""
        result = await asyncio.shield(asyncio.wrap_future(self._submit(request)))
        return replace(result, id=request.id)

    def close(self) -> None:
        """Stop every process and thread; checks that are still open end as ``UNVERIFIED``. May be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._stop()
        if self._cache_thread is not None:
            self._cache_thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _submit(self, request: CheckRequest, *, waits: bool = False) -> Future[CheckResult]:
        """Answer or begin to answer ``request``; ``waits``: this thread may wait for the disk."""
        conditions: Conditions | None = None
        key = (request.theorem, request.code)
        future: Future[CheckResult] = Future()
        with self._lock:
            self.counts.asked += 1
            if known := self._known.get(key):
                self.counts.from_memory += 1
                self._known.move_to_end(key)
                future.set_result(replace(known, seconds=0.0))
                return future
            if running := self._running.get(key):
                self.counts.joined += 1
                return running
            if self._closed:
                future.set_result(self._unverified(request, "the verifier is closed"))
                return future
            self._running[key] = future
            if self._cache_thread is not None and (version := self._version_so_far()) != UNKNOWN_VERSION:
                conditions = self._conditions_of(version)
                if not waits:
                    # With the lock held: behind close() nobody would answer.
                    self._cache_thread.look_up(
                        request,
                        conditions,
                        lambda found: self._looked_up(request, found),
                        lambda error: self._fail(request, error),
                    )
                    return future
        try:
            self._looked_up(request, self._cache_thread.read(request, conditions) if conditions else None)
        except BaseException as error:
            # Others may wait for the same answer.
            self._fail(request, error)
        return future

    def _looked_up(self, request: CheckRequest, found: CheckResult | None) -> None:
        """Go on with a request after the cache on disk was asked about it. What is found there has not been refused."""
        if found is not None:
            with self._lock:
                self.counts.from_cache += 1
            self._settle(request, replace(found, seconds=0.0))
            return
        refusal = self._refuse(request)
        with self._lock:
            if refusal is not None:
                self.counts.refused += 1
            elif not self._closed:
                self._enqueue(request)
                return
        # A refusal costs no Lean, and is the text's alone: nothing for the disk.
        self._settle(request, refusal or self._unverified(request, "the verifier is closed"))

    def _finish(self, request: CheckRequest, result: CheckResult) -> None:
        """Answer ``request`` with what came out of its check."""
        if self._cache_thread is not None and result.verdict is not Verdict.UNVERIFIED:
            self._cache_thread.keep(request, self._conditions_of(result.lean_version), result)
        self._settle(request, result)

    def _settle(self, request: CheckRequest, result: CheckResult) -> None:
        key = (request.theorem, request.code)
        with self._lock:
            future = self._running.pop(key)
            if result.verdict is not Verdict.UNVERIFIED and self._cache_size > 0:
                self._known[key] = result
                while len(self._known) > self._cache_size:
                    self._known.popitem(last=False)
        future.set_result(result)

    def _conditions_of(self, lean_version: str) -> Conditions:
        """What verdicts of this Lean version stand on. The version may become known at the first answer only."""
        if self._conditions is None or self._conditions.lean_version != lean_version:
            self._conditions = Conditions(lean_version, self.header, self._environment, self._limits, self._goals)
        return self._conditions

    def _fail(self, request: CheckRequest, error: BaseException) -> None:
        """Raise ``error`` where ``request`` is waited for."""
        with self._lock:
            future = self._running.pop((request.theorem, request.code))
        future.set_exception(error)

    def _unverified(self, request: CheckRequest, detail: str) -> CheckResult:
        return CheckResult(request.id, Verdict.UNVERIFIED, (), 0.0, detail, None, self.lean_version)
