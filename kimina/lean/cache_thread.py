"""The thread that reads and writes the verification cache, so that no event loop waits for a disk.

Readings are answered one by one as they come; a caller that waits for its verdicts anyway reads in its own thread, which
costs a fraction of two threads taking turns. Verdicts to keep are gathered, and written in one transaction when there
are `BATCH` of them or the first has waited `FLUSH_S` seconds; a kill loses no more than those.
"""

import queue
import threading
import time
from collections.abc import Callable

from kimina.lean.verdict import CheckRequest, CheckResult
from kimina.lean.verdict_cache import Conditions, VerdictCache

BATCH = 256
FLUSH_S = 0.2
_MOST_UNSAVED = 4096

_Kept = tuple[CheckRequest, Conditions, CheckResult]
_LookUp = tuple[CheckRequest, Conditions, Callable[[CheckResult | None], None], Callable[[BaseException], None]]


class CacheThread:
    """Serves one verifier. No method waits, except `read` and `close`."""

    def __init__(self, cache: VerdictCache) -> None:
        self._cache = cache
        self._tasks: queue.SimpleQueue[_Kept | _LookUp | None] = queue.SimpleQueue()
        self._unsaved: list[_Kept] = []
        self._flush_at = 0.0
        self._error: BaseException | None = None  # with which the thread ended
        self._closed = False
        # A forgotten close() must not keep the program alive.
        self._thread = threading.Thread(target=self._serve, name="verdict-cache", daemon=True)
        self._thread.start()

    def look_up(
        self,
        request: CheckRequest,
        conditions: Conditions,
        found: Callable[[CheckResult | None], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Call ``found`` with what is known on ``request`` (None: nothing), or ``failed``, in this thread."""
        self._tasks.put((request, conditions, found, failed))

    def read(self, request: CheckRequest, conditions: Conditions) -> CheckResult | None:
        """What is known on ``request``, read here and now. Raises the error with which the thread ended, if it did."""
        if self._error is not None:
            raise self._error
        found = self._cache.get(request, conditions)
        if self._closed:
            self._cache.close()  # which this reading may have opened again
        return found

    def keep(self, request: CheckRequest, conditions: Conditions, result: CheckResult) -> None:
        """Have ``result`` written soon."""
        self._tasks.put((request, conditions, result))

    def close(self) -> None:
        """Answer what was asked, write what is to be kept, and end."""
        self._tasks.put(None)
        self._thread.join()
        self._closed = True
        self._cache.close()

    def _serve(self) -> None:
        try:
            self._serve_until_closed()
        except BaseException as error:
            # As below: whoever asks from now on gets the error.
            self._error = error
            while (task := self._tasks.get()) is not None:
                match task:
                    case (_, _, _, failed):
                        failed(error)

    def _serve_until_closed(self) -> None:
        while True:
            try:
                wait = max(0.0, self._flush_at - time.monotonic()) if self._unsaved else None
                task = self._tasks.get(timeout=wait)
            except queue.Empty:
                self._flush()
                continue
            match task:
                case None:
                    break
                case (request, conditions, found, failed):
                    try:
                        found(self._cache.get(request, conditions))
                    except BaseException as error:
                        # Nobody waits for this thread, but somebody waits for the answer, and gets the error.
                        failed(error)
                case kept:
                    if not self._unsaved:
                        self._flush_at = time.monotonic() + FLUSH_S
                    self._unsaved.append(kept)
            # Also under a stream of readings that leaves the queue never empty.
            if self._unsaved and (len(self._unsaved) % BATCH == 0 or time.monotonic() >= self._flush_at):
                self._flush()
        for _ in range(3):
            self._flush()

    def _flush(self) -> None:
        if self._unsaved and self._cache.put(self._unsaved):
            self._unsaved = []
            return
        # Another process is writing. What it costs to lose the oldest ones is a check each.
        self._unsaved = self._unsaved[-_MOST_UNSAVED:]
        self._flush_at = time.monotonic() + FLUSH_S
