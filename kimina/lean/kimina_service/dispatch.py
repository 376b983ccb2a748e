"""Which proof goes where and when. Everything here runs in one event loop, so nothing needs a lock.

- A proof is sent as soon as a server has room for it: no room is left while proofs wait (those excepted that have just
  failed and pause). A request holds as few proofs as the number of requests allows, since it lasts as long as its
  slowest proof.
- The proofs of a request that failed as a whole travel in batches of at most half its size from then on, so that a proof
  that breaks requests is soon alone in one. They avoid the servers on which they failed, as long as another one works.
- Failures of a proof that was alone in its requests are held against it (``_TRIES`` of them end it as ``UNVERIFIED``)
  where the server answered something else in between; until it did, they are held against the server.
- ``deadline_s`` after it was handed in a proof ends as ``UNVERIFIED``, whatever is under way.
"""

import asyncio
import heapq
import itertools
import random
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from kimina.lean.kimina_service.health import Health
from kimina.lean.kimina_service.wire import Trouble, TroubleKind, Wire
from kimina.lean.verdict import CheckRequest, CheckResult, Verdict

_TRIES = 8
# Longest pauses, as multiples of the first.
_MOST_PAUSE = 16
_MOST_REST = 60
_MOST_STRANGER_REST = 8


@dataclass(eq=False)
class Server:
    """A server: the connections to it, and what is known about it."""

    wire: Wire
    health: Health
    probing: asyncio.Task | None = None
    alarm: asyncio.TimerHandle | None = None
    due: bool = True
    """Whether its rest is over, and a probe shall be sent when there is work."""


@dataclass(eq=False)
class Job:
    """One proof on its way to a verdict. ``most`` is the size of the largest batch that it may travel in."""

    request: CheckRequest
    deadline: float
    most: int
    detail: str
    """What went wrong last."""
    tries: int = 0
    """Failures that are held against it."""
    in_doubt: int = 0
    """Failures that will be, should it fail again although its server has answered something else."""
    pauses: int = 0
    failed_at: float = float("-inf")
    avoided: set[Server] = field(default_factory=set)
    done: bool = False


@dataclass(frozen=True)
class Callbacks:
    """What the dispatcher asks of its owner."""

    ask: Callable[[Wire, Sequence[CheckRequest]], Awaitable[list[CheckResult]]]
    """Judge a batch on a server; raises ``Trouble`` when it fails as a whole."""
    probe: Callable[[Wire], Awaitable[None]]
    """Ask the server one small question; raises ``Trouble``."""
    finish: Callable[[CheckRequest, Verdict | CheckResult, str], None]
    """Take a result, or ``Verdict.UNVERIFIED`` with its reason."""
    fail: Callable[[CheckRequest, BaseException], None]
    """Take an error that is no trouble with a server."""
    contacted: Callable[[], None]
    """Take notice that a probe has ended, well or badly."""


class Dispatcher:
    """Sends proofs to ``servers``; see the module's text. All methods are for the thread in which ``loop`` runs.

    ``first_pause_s`` (s) is the unit of all pauses and rests.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        servers: Sequence[Server],
        callbacks: Callbacks,
        batch_size: int,
        deadline_s: float | None,
        first_pause_s: float,
        rng: random.Random,
    ) -> None:
        self._loop = loop
        self.servers = list(servers)
        self._callbacks = callbacks
        self._batch_size = batch_size
        self._deadline_s = float("inf") if deadline_s is None else deadline_s
        self._first_pause_s = first_pause_s
        self._rng = rng
        self._open: OrderedDict[Job, None] = OrderedDict()  # all jobs without a result, the earliest deadline first
        self._fresh: deque[Job] = deque()
        self._again: deque[Job] = deque()
        self._paused: list[tuple[float, int, Job]] = []
        self._count = itertools.count()
        self._under_way: dict[asyncio.Task, list[Job]] = {}
        self._deadline_alarm: asyncio.TimerHandle | None = None
        self._pause_alarm: asyncio.TimerHandle | None = None
        self._outage = "no server has answered"
        self._stopped: str | None = None  # the reason, once it is
        self.curious = False
        """Whether servers are probed even while there is no proof for them."""

    def add(self, requests: Sequence[CheckRequest]) -> None:
        """Take new proofs and send what can be sent."""
        deadline = self._loop.time() + self._deadline_s
        for request in requests:
            job = Job(request, deadline, self._batch_size, self._outage)
            self._open[job] = None
            self._fresh.append(job)
        if self._stopped is not None:
            for job in list(self._open):
                self._give_up(job, self._stopped)
            return
        self.contact()
        self._give_up_without_servers()
        self._watch_deadlines()
        self._send_all()

    def contact(self) -> None:
        """Probe every server that isn't open and not resting."""
        for server in self.servers:
            if server.due and not server.health.open:
                server.due = False
                self._ask_anew(server)

    async def stop(self, reason: str) -> None:
        """End everything that is under way; all open proofs end as ``UNVERIFIED`` for ``reason``."""
        self._stopped = reason
        tasks = [*self._under_way, *(server.probing for server in self.servers if server.probing)]
        alarms = [self._deadline_alarm, self._pause_alarm, *(server.alarm for server in self.servers)]
        for handle in [*tasks, *(alarm for alarm in alarms if alarm)]:
            handle.cancel()
        for job in list(self._open):
            self._give_up(job, reason)
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in self.servers:
            await server.wire.close()

    def fail_all(self, error: Callable[[], BaseException]) -> None:
        """End every open proof with an error: nothing sensible can be answered any more."""
        for job in list(self._open):
            self._close(job)
            self._callbacks.fail(job.request, error())

    # Sending

    def _send_all(self) -> None:
        if self._stopped is not None:
            return
        while self._again or self._fresh:
            with_room = [server for server in self.servers if server.health.room > 0]
            with_room.sort(key=lambda server: server.health.room, reverse=True)
            if not with_room:
                return
            size = self._batch_for(with_room)
            for server in with_room:
                if jobs := self._take(server, min(size, server.health.room)):
                    self._send(server, jobs)
                    break
            else:
                return

    def _batch_for(self, servers: Sequence[Server]) -> int:
        """The smallest batches with which everything that may be sent fits into the free requests."""
        proofs = min(len(self._again) + len(self._fresh), sum(server.health.room for server in servers))
        requests = sum(min(server.health.free_requests, server.health.room) for server in servers)
        return min(self._batch_size, -(-proofs // requests))

    def _take(self, server: Server, size: int) -> list[Job]:
        """Up to ``size`` proofs for ``server`` from the queues, those that failed before first."""
        jobs: list[Job] = []
        passed: list[Job] = []
        others = [other for other in self.servers if other.health.open and other is not server]
        while self._again and len(jobs) < size:
            job = self._again.popleft()
            if job.done:
                continue
            if server in job.avoided and any(other not in job.avoided for other in others):
                passed.append(job)
                continue
            if jobs and len(jobs) >= min(job.most, jobs[0].most):
                passed.append(job)
                break
            jobs.append(job)
            size = min(size, job.most)
        self._again.extendleft(reversed(passed))
        while self._fresh and len(jobs) < size:
            job = self._fresh.popleft()
            if not job.done:
                jobs.append(job)
        return jobs

    def _send(self, server: Server, jobs: list[Job]) -> None:
        server.health.proofs += len(jobs)
        server.health.requests += 1
        task = self._loop.create_task(self._carry(server, jobs))
        self._under_way[task] = jobs
        # Not in the task itself, which may be cancelled before its first step.
        task.add_done_callback(lambda ended: self._over(server, ended))

    def _over(self, server: Server, task: asyncio.Task) -> None:
        server.health.proofs -= len(self._under_way.pop(task))
        server.health.requests -= 1
        self._send_all()

    async def _carry(self, server: Server, jobs: list[Job]) -> None:
        health, sent = server.health, self._loop.time()
        full = health.proofs >= int(health.window) or not health.free_requests
        try:
            results = await self._callbacks.ask(server.wire, [job.request for job in jobs])
        except Trouble as trouble:
            self._failed(server, jobs, trouble, sent)
        except asyncio.CancelledError:
            pass  # by stop(), or by the deadline of all of its proofs
        except Exception as error:
            # Nobody waits for this task, but somebody waits for each answer, and gets the error.
            for job in jobs:
                if not job.done:
                    self._close(job)
                    self._callbacks.fail(job.request, error)
        else:
            self._answered(server, jobs, results, sent, full)

    # What came back

    def _answered(self, server: Server, jobs: Sequence[Job], results: Sequence[CheckResult], sent: float, full: bool) -> None:
        now = self._loop.time()
        verdicts = [result for result in results if result.verdict is not Verdict.UNVERIFIED]
        if verdicts:
            lean_s = max(result.seconds for result in results)
            server.health.answered_proofs(len(verdicts), full, now - sent, lean_s, sent, now)
        elif server.health.failed(TroubleKind.BROKEN, len(jobs) > 1 or not jobs[0].tries, sent, now):
            self._rest(server)
        for job, result in zip(jobs, results, strict=True):
            if job.done:
                continue
            if result.verdict is Verdict.UNVERIFIED:
                self._retry(server, job, result.detail, 1)
            else:
                self._close(job)
                self._callbacks.finish(job.request, result, result.detail)
        self._wake_paused()

    def _failed(self, server: Server, jobs: Sequence[Job], trouble: Trouble, sent: float) -> None:
        health, now, first = server.health, self._loop.time(), jobs[0]
        alone = len(jobs) == 1 and trouble.kind in (TroubleKind.BROKEN, TroubleKind.SILENT)
        own = alone and health.answered_at > first.failed_at
        if health.failed(trouble.kind, not (own and first.tries), sent, now):
            self._rest(server)
        elif trouble.kind in (TroubleKind.BROKEN, TroubleKind.SILENT) and health.open:
            # Was it the proof or the server? And if the server was started anew: with the same Lean?
            self._ask_anew(server)
        for job in jobs:
            job.most = max(1, -(-len(jobs) // 2))
            if not job.done:
                job.in_doubt += alone
                self._retry(server, job, str(trouble), job.in_doubt if own else 0)
        self._wake_paused()

    def _retry(self, server: Server, job: Job, detail: str, counted: int) -> None:
        job.detail = detail
        job.failed_at = self._loop.time()
        if counted:
            job.tries += counted
            job.in_doubt = 0
        if job.tries >= _TRIES:
            self._give_up(job, f"given up after {_TRIES} tries: {detail}")
            return
        job.avoided.add(server)
        if len(job.avoided) == len(self.servers):
            job.avoided = {server}
        pause = self._pause(job.pauses, _MOST_PAUSE)
        job.pauses += 1
        heapq.heappush(self._paused, (self._loop.time() + pause, next(self._count), job))

    def _wake_paused(self) -> None:
        now = self._loop.time()
        while self._paused and (self._paused[0][0] <= now or self._paused[0][2].done):
            job = heapq.heappop(self._paused)[2]
            if not job.done:
                self._again.append(job)
        if self._pause_alarm:
            self._pause_alarm.cancel()
        self._pause_alarm = self._loop.call_at(self._paused[0][0], self._pause_over) if self._paused else None

    def _pause_over(self) -> None:
        self._wake_paused()
        self._send_all()

    def _pause(self, number: int, most: int) -> float:
        """Seconds of pause ``number`` (from 0): doubling, with jitter, so that many clients don't come back together."""
        return self._first_pause_s * min(2 ** min(number, 30), most) * self._rng.uniform(0.5, 1.0)

    # Health of servers

    def _rest(self, server: Server) -> None:
        health = server.health
        health.rest()
        server.due = False
        if server.alarm:
            server.alarm.cancel()
        most = _MOST_REST if health.answered else _MOST_STRANGER_REST
        server.alarm = self._loop.call_later(self._pause(health.rests - 1, most), self._rest_over, server)

    def _rest_over(self, server: Server) -> None:
        server.due = True
        if self._open or self.curious:  # else there is no reason to ask; the next proof is one
            self.contact()

    def _ask_anew(self, server: Server) -> None:
        if server.probing is None and self._stopped is None:
            server.probing = self._loop.create_task(self._probe(server))

    async def _probe(self, server: Server) -> None:
        sent = self._loop.time()
        try:
            await self._callbacks.probe(server.wire)
        except Trouble as trouble:
            self._outage = str(trouble)
            if not any(other.health.open for other in self.servers):
                for job in self._open:
                    job.detail = self._outage
            server.probing = None
            if not server.health.open or server.health.failed(trouble.kind, True, sent, self._loop.time()):
                self._rest(server)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            server.probing = None
            self._rest(server)
            self.fail_all(lambda found=error: found)
        else:
            server.probing = None
            server.health.probed(self._loop.time())
            self._outage = "no server had room"
        self._callbacks.contacted()
        self._give_up_without_servers()
        self._send_all()

    def _give_up_without_servers(self) -> None:
        # A server that worked before is waited for; addresses under which nothing ever answered are not.
        if all(server.health.absent and not server.probing for server in self.servers):
            for job in list(self._open):
                self._give_up(job, job.detail)

    # Ends

    def _give_up(self, job: Job, detail: str) -> None:
        self._close(job)
        self._callbacks.finish(job.request, Verdict.UNVERIFIED, detail)

    def _close(self, job: Job) -> None:
        job.done = True
        del self._open[job]

    def _watch_deadlines(self) -> None:
        now = self._loop.time()
        expired = list(itertools.takewhile(lambda job: job.deadline <= now, self._open))
        for job in expired:
            self._give_up(job, f"no verdict within {self._deadline_s:g} s; last: {job.detail}")
        if expired:
            for task, jobs in self._under_way.items():
                if all(job.done for job in jobs):
                    task.cancel()
        if self._deadline_alarm:
            self._deadline_alarm.cancel()
        first = next(iter(self._open), None)
        watched = first is not None and first.deadline < float("inf")
        self._deadline_alarm = self._loop.call_at(first.deadline, self._watch_deadlines) if watched else None
