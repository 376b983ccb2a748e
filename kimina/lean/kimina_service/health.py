"""What is known about one server: how much it sustains, and whether it works at all.

**Window.** ``window`` is the number of proofs that the server may hold: a little more than it has workers, so that none
idles, and not much more, since a proof that waits at one server can't be taken by another. How long proofs wait there is
what an answer took beyond Lean's own time, smoothed. While that is short (a tenth of Lean's time) and the window is full
(else there is no evidence) the window grows: by a quarter a round until proofs wait for the first time, then by about one
proof a round. When proofs wait long (a quarter of Lean's time) it shrinks by an eighth, and when the server is overloaded or
silent it halves; once for all requests that were under way together.

**Rest.** A server that can't be reached, or failed ``_FAILURES`` times without an answer in between, rests; each further
rest is longer. After it the server is asked one small question (the dispatcher's probe) before it gets proofs again.
"""

from kimina.lean.kimina_service.wire import TroubleKind

_FIRST_WINDOW = 64
"""Proofs: the published server has 60 workers. Less would leave them idle for as long as the first proofs take."""
_SMOOTHING = 1 / 16
_SHORT_WAIT_S, _LONG_WAIT_S = 0.25, 2.0
"""Seconds on top of the shares above: what the network, the server's polling and a busy client may add."""
_FAILURES = 3
_STRANGER_TRIES = 5


class Health:
    """State of one server. ``concurrency`` bounds its requests, ``concurrency * batch_size`` its proofs. Times are s."""

    def __init__(self, concurrency: int, batch_size: int) -> None:
        self._concurrency = concurrency
        self._most = concurrency * batch_size
        self.window = float(min(_FIRST_WINDOW, self._most))
        self._growing_fast = True
        self._decreased_at = float("-inf")
        self.proofs = 0
        """Proofs that the server holds now."""
        self.requests = 0
        """Requests under way now."""
        self.open = False
        """Whether it gets proofs."""
        self.answered = False
        """Whether it ever answered."""
        self.answered_at = float("-inf")
        self.rests = 0
        """Rests since the last verdict."""
        self._failures = 0
        self._lean_s: float | None = None
        self._wait_s: float | None = None

    @property
    def room(self) -> int:
        """Proofs that may be sent now."""
        return max(0, int(self.window) - self.proofs) if self.open and self.free_requests else 0

    @property
    def free_requests(self) -> int:
        """Requests that may be opened now."""
        return self._concurrency - self.requests

    @property
    def absent(self) -> bool:
        """Whether there seems to be no server: it never answered, in several tries."""
        return not self.answered and self.rests >= _STRANGER_TRIES

    def probed(self, now: float) -> None:
        """Note an answer to the probe."""
        self.open = self.answered = True
        self.answered_at = now
        self._failures = 0

    def answered_proofs(self, count: int, full: bool, wall_s: float, lean_s: float, sent: float, now: float) -> None:
        """Note an answer with ``count`` verdicts after ``wall_s``, of which Lean says it needed ``lean_s``.

        ``full``: whether the window was full while the request was under way.
        """
        self.probed(now)
        self.rests = 0
        self._lean_s = _smoothed(self._lean_s, lean_s)
        self._wait_s = _smoothed(self._wait_s, wall_s - lean_s)
        if self._wait_s > self._lean_s / 4 + _LONG_WAIT_S:
            self._decrease(7 / 8, sent, now)
        elif self._wait_s > self._lean_s / 10 + _SHORT_WAIT_S:
            self._growing_fast = False
        elif full:
            self.window = min(self._most, self.window + (count / 4 if self._growing_fast else count / self.window))

    def failed(self, kind: TroubleKind, blamed: bool, sent: float, now: float) -> bool:
        """Note a request that failed as a whole; return whether the server has to rest.

        ``blamed``: whether it speaks against the server, and not against the one proof in it.
        """
        if kind in (TroubleKind.OVERLOADED, TroubleKind.SILENT):
            self._decrease(1 / 2, sent, now)
        if not blamed or not self.open:
            return False
        self._failures += 1
        return kind is TroubleKind.UNREACHABLE or self._failures >= _FAILURES

    def rest(self) -> None:
        """Send it nothing until the next probe."""
        self.open = False
        self.rests += 1
        self._failures = 0

    def _decrease(self, factor: float, sent: float, now: float) -> None:
        if sent > self._decreased_at:
            self.window = max(1.0, self.window * factor)
            self._growing_fast = False
            self._decreased_at = now


def _smoothed(before: float | None, now: float) -> float:
    return now if before is None else before + _SMOOTHING * (now - before)
