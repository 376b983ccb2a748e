"""Verifiers that run Lean on this machine: one thread a worker, one queue for all."""

import queue
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Protocol

from kimina.errors import UserError
from kimina.lean.remembering import RememberingVerifier
from kimina.lean.verdict import CheckRequest, CheckResult


class Worker(Protocol):
    """Judges one request at a time; ``stop`` may be called from any thread and ends a running judgement soon."""

    def judge(self, request: CheckRequest) -> CheckResult: ...

    def stop(self) -> None: ...


class ThreadedVerifier(RememberingVerifier):
    """Serves requests with ``workers``, each in a thread of its own; the other arguments are `RememberingVerifier`'s."""

    def __init__(
        self,
        workers: Sequence[Worker],
        cache_size: int,
        cache: str | None = None,
        *,
        environment: str = "",
        limits: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(cache_size, cache, environment=environment, limits=limits)
        self._jobs: queue.SimpleQueue[CheckRequest | None] = queue.SimpleQueue()
        self._workers = list(workers)
        # Daemon threads: a forgotten close() must not keep the program alive; the processes end with it.
        self._threads = [
            threading.Thread(target=self._serve, args=(worker,), name=f"lean-{index}", daemon=True)
            for index, worker in enumerate(self._workers)
        ]
        self._stop_workers = weakref.finalize(self, _stop_all, self._workers)
        for thread in self._threads:
            thread.start()

    def _enqueue(self, request: CheckRequest) -> None:
        self._jobs.put(request)

    def _stop(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        self._stop_workers()
        for thread in self._threads:
            thread.join()

    def _serve(self, worker: Worker) -> None:
        while (request := self._jobs.get()) is not None:
            if self._closed:
                self._finish(request, self._unverified(request, "the verifier was closed"))
                continue
            try:
                result = worker.judge(request)
            except BaseException as error:
                # Nobody waits for this thread, but somebody waits for the answer, and gets the error.
                self._fail(request, error)
            else:
                self._finish(request, result)


def positive(**settings: float) -> None:
    """Refuse a verifier's setting that is not positive. Raises ``UserError``."""
    for name, value in settings.items():
        if value <= 0:
            raise UserError(f"verifier.{name} must be positive, not {value}. Type: verifier.{name}=1")


def _stop_all(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.stop()
