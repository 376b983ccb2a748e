"""What all verifiers share: identical proofs are checked once, verdicts are remembered, anybody may wait for them."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import replace
from types import TracebackType
from typing import Self

from kimina.lean.verdict import CheckRequest, CheckResult, Verdict

_Key = tuple[str, str]


class RememberingVerifier(ABC):
    """A ``Verifier`` whose subclass only has to queue new proofs (``_enqueue``) and report on them (``_finish``).

    The last ``cache_size`` verdicts are kept, by theorem name and exact text: header and Lean version are fixed for a
    verifier. ``UNVERIFIED`` is never remembered.
    """

    header: str
    lean_version: str

    def __init__(self, cache_size: int) -> None:
        self._cache_size = cache_size
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

    def check(
        self, requests: Sequence[CheckRequest], on_result: Callable[[CheckResult], None] | None = None
    ) -> list[CheckResult]:
        """Judge all requests; see ``Verifier.check``."""
        futures = [self._submit(request) for request in requests]
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _submit(self, request: CheckRequest) -> Future[CheckResult]:
        key = (request.theorem, request.code)
        future: Future[CheckResult] = Future()
        with self._lock:
            if known := self._known.get(key):
                self._known.move_to_end(key)
                future.set_result(replace(known, seconds=0.0))
                return future
            if running := self._running.get(key):
                return running
            if self._closed:
                future.set_result(self._unverified(request, "the verifier is closed"))
                return future
            self._running[key] = future
            refusal = self._refuse(request)
            if refusal is None:
                self._enqueue(request)
        if refusal is not None:
            self._finish(request, refusal)
        return future

    def _finish(self, request: CheckRequest, result: CheckResult) -> None:
        key = (request.theorem, request.code)
        with self._lock:
            future = self._running.pop(key)
            if result.verdict is not Verdict.UNVERIFIED and self._cache_size > 0:
                self._known[key] = result
                while len(self._known) > self._cache_size:
                    self._known.popitem(last=False)
        future.set_result(result)

    def _fail(self, request: CheckRequest, error: BaseException) -> None:
        """Raise ``error`` where ``request`` is waited for."""
        with self._lock:
            future = self._running.pop((request.theorem, request.code))
        future.set_exception(error)

    def _unverified(self, request: CheckRequest, detail: str) -> CheckResult:
        return CheckResult(request.id, Verdict.UNVERIFIED, (), 0.0, detail, None, self.lean_version)
