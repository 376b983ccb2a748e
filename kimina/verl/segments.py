"""Responses that are drawn in segments: interrupted, continued by a newer policy, ended when they repeat themselves.

``SegmentedClient`` is what agent loops call in place of verl's client. It asks the engine for one segment after the other
and remembers which version of the policy drew how many tokens. ``Iterations`` is the actor at which responses wait that
have used up their budget of one iteration (Kimi k1.5, section 2.6.2).
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ray
from verl.workers.rollout.llm_server import FullyAsyncLLMServerClient, LLMServerClient, TokenOutput

from kimina.generation.repetition import RepetitionRule
from kimina.verl.rollout_record import REPETITION, SEGMENTS

_ABORTED = ("aborted", "abort")


@dataclass(frozen=True)
class SegmentRules:
    """How a response is cut: ``rollout.*`` of the configuration, and what the model's texts end with.

    ``budget`` is in tokens an iteration (None: no limit), ``check_every`` in tokens between looks for repetition (used only
    with ``repetition``), ``pause_s`` in seconds between an interruption and the next try.
    """

    budget: int | None
    repetition: RepetitionRule | None
    check_every: int
    stop_ids: frozenset[int]
    pause_s: float

    @classmethod
    def from_settings(cls, rollout: dict[str, Any], stop_ids: Collection[int], pause_s: float) -> "SegmentRules":
        """Read the node ``rollout``."""
        repetition = rollout["repetition"]
        rule = RepetitionRule.from_settings(repetition) if repetition["stop"] else None
        return cls(rollout["segment_tokens"], rule, repetition["check_every"], frozenset(stop_ids), pause_s)

    def next_limit(self, left: int, left_of_iteration: int | None) -> int:
        """Return how many tokens to ask for next."""
        limits = [left]
        if left_of_iteration is not None:
            limits.append(left_of_iteration)
        if self.repetition is not None:
            limits.append(self.check_every)
        return min(limits)


def cuts_responses(rollout: dict[str, Any]) -> bool:
    """Whether the node ``rollout`` asks for more than whole responses that nobody interrupts."""
    return rollout["mode"] != "sync" or rollout["repetition"]["stop"]


@dataclass(frozen=True)
class Place:
    """A response's place among those in flight.

    ``order`` is the start of its prompt's first response and its own start; ``turn`` grows with each version of the policy.
    """

    prompt: str
    order: tuple[int, int]
    turn: int


class Iterations:
    """Lets responses that have used up their budget wait for the next iteration. An asynchronous Ray actor.

    A step needs whole groups. Where everything in flight waits while the trainer still wants groups, nothing would ever
    end; then the oldest responses get another budget within the same iteration, as many as the step lacks (``extensions``
    counts how often), and the younger ones go on waiting. Where enough have ended and the trainer still waits, they are
    being judged, or some group lacks a member: ``patience_s`` later one more group goes on, then two more, and so on.
    Nobody waits during a validation, which no new version ends: what starts there has no budget.

    Args:
        step_samples: responses that a step takes.
        group: responses to one prompt.
    """

    def __init__(self, step_samples: int, group: int, patience_s: float = 2.0):
        self._step_samples, self._group, self._patience_s = step_samples, group, patience_s
        self._later: asyncio.TimerHandle | None = None
        self._lacking = 0  # responses that the trainer has asked for, less those that have ended
        self._turn = self._started = self._generating = 0
        self._waiting: dict[tuple[int, int], asyncio.Event] = {}
        # of prompts in flight: first start, responses that go on, responses that have ended
        self._prompts: dict[str, tuple[int, int, int]] = {}
        self._wanted = self._validating = False
        self._patient_groups = 1
        self._extensions = 0

    async def begin(self, prompt: str) -> Place | None:
        """Say that a response to ``prompt`` (a name) starts; None: it has no budget, and nothing more need be said of it."""
        if self._validating:
            return None
        self._generating += 1
        self._started += 1
        first, count, ended = self._prompts.get(prompt, (self._started, 0, 0))
        self._prompts[prompt] = (first, count + 1, ended)
        return Place(prompt, (first, self._started), self._turn)

    async def end(self, place: Place) -> None:
        """Say that a response of ``begin`` has ended, or failed."""
        self._generating -= 1
        self._lacking -= 1
        first, count, ended = self._prompts.pop(place.prompt)
        if count > 1:
            self._prompts[place.prompt] = (first, count - 1, ended + 1)
        self._extend_if_stuck()

    async def wait(self, place: Place) -> Place:
        """Return once the response has another budget: there is a newer version than at ``place``, or it is extended."""
        if self._turn > place.turn:
            return replace(place, turn=self._turn)
        ready = self._waiting[place.order] = asyncio.Event()
        self._generating -= 1
        self._extend_if_stuck()
        try:
            await ready.wait()
        except asyncio.CancelledError:
            if self._waiting.pop(place.order, None) is not None:
                self._generating += 1  # `end` comes next
            raise
        return replace(place, turn=self._turn)

    async def want_samples(self, wanted: bool, ready: int = 0) -> None:
        """Say whether the trainer waits for groups; ``ready`` responses are in groups that it could take already."""
        self._wanted = wanted
        if wanted:
            # counted anew: ends of earlier steps include groups that failed or were dropped, and first of two turns
            ended = sum(ended for _, _, ended in self._prompts.values())
            self._lacking = self._step_samples - ready - ended
            self._patient_groups = 1
        self._extend_if_stuck()

    async def validate(self, validating: bool) -> None:
        """Say whether a validation runs."""
        self._validating = validating

    async def advance(self) -> None:
        """Give every response its next budget: there is a new version of the policy."""
        self._turn += 1
        self._let_go(len(self._waiting))

    async def extensions(self) -> int:
        """Return how often responses were extended since the start."""
        return self._extensions

    def _extend_if_stuck(self, patient: bool = False) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not (self._wanted and self._waiting and self._generating <= 0):
            return
        if self._lacking <= 0 and not patient:
            self._later = asyncio.get_running_loop().call_later(self._patience_s, self._extend_if_stuck, True)
            return
        self._extensions += 1
        if patient:
            # the count is too low where responses have two turns or groups failed: don't go through them one by one
            self._let_go(max(self._group * self._patient_groups, self._lacking))
            self._patient_groups *= 2
        else:
            self._let_go(max(self._group, self._lacking))

    def _let_go(self, most: int) -> None:
        for order in sorted(self._waiting)[:most]:
            # counted here, not where the response goes on: others may ask in between
            self._generating += 1
            self._waiting.pop(order).set()


class SegmentedClient(FullyAsyncLLMServerClient):
    """verl's client for interrupted generation, with budgets, a look for repetition, and a record of the segments."""

    def __init__(self, *args, rules: SegmentRules, iterations: ray.actor.ActorHandle | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        self._rules = rules
        self._iterations = iterations

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **other: Any
    ) -> TokenOutput:
        """Sample one response and return it as if nothing had interrupted it.

        ``extra_fields`` says more: ``segments``, [[version, tokens], …] in order; ``repetition``, the period in tokens at
        which the response was ended for repeating itself, or 0; the first and last version as verl names them.
        """
        most = sampling_params.get("max_tokens") or sampling_params.get("max_new_tokens") or self._configured_response_length()
        drawn = _Drawn()
        async with self._iteration(prompt_ids) as iteration:
            while True:
                left = most - len(drawn.tokens)
                limit = self._rules.next_limit(left, iteration.left(self._rules.budget))
                output = await LLMServerClient.generate(
                    self,
                    request_id=request_id,
                    prompt_ids=[*prompt_ids, *drawn.tokens],
                    sampling_params={**sampling_params, "max_tokens": limit},
                    # the client takes single entries out of what it is given
                    **dict(other),
                )
                drawn.add(output)
                iteration.used += len(output.token_ids)
                reason = self._ended(drawn, output, limit, most)
                if reason is not None:
                    return drawn.output(reason)
                aborted = output.stop_reason in _ABORTED
                if aborted:
                    await asyncio.sleep(self._rules.pause_s)
                # whoever interrupts a response ends the iteration
                if iteration.counts and (aborted or iteration.left(self._rules.budget) == 0):
                    await iteration.next()

    def _ended(self, drawn: "_Drawn", output: TokenOutput, limit: int, most: int) -> str | None:
        """Return why the response is complete, or None."""
        if drawn.tokens and drawn.tokens[-1] in self._rules.stop_ids and output.token_ids:
            return "completed"
        if len(drawn.tokens) >= most:
            return "length"
        rule = self._rules.repetition
        if rule is not None and output.token_ids and (period := rule.period(drawn.tokens)):
            drawn.period = period
            return REPETITION
        if output.stop_reason in _ABORTED or len(output.token_ids) >= limit:
            return None
        return output.stop_reason or "completed"

    @contextlib.asynccontextmanager
    async def _iteration(self, prompt_ids: Sequence[int]):
        if self._rules.budget is None or self._iterations is None:
            yield _Iteration(None, None)
            return
        prompt = hashlib.sha256(" ".join(map(str, prompt_ids)).encode()).hexdigest()
        place = await self._iterations.begin.remote(prompt)
        if place is None:
            yield _Iteration(None, None)
            return
        iteration = _Iteration(self._iterations, place)
        try:
            yield iteration
        finally:
            await self._iterations.end.remote(iteration.place)


class _Iteration:
    """One response's use of the present budget."""

    def __init__(self, iterations: ray.actor.ActorHandle | None, place: Place | None):
        self._iterations, self.place, self.used = iterations, place, 0

    @property
    def counts(self) -> bool:
        """Whether there is a budget at all."""
        return self._iterations is not None

    def left(self, budget: int | None) -> int | None:
        return max(0, budget - self.used) if self.counts and budget is not None else None

    async def next(self) -> None:
        self.place = await self._iterations.wait.remote(self.place)
        self.used = 0


class _Drawn:
    """A response as far as it is drawn."""

    def __init__(self):
        self.tokens: list[int] = []
        self.log_probs: list[float] = []
        self.segments: list[list[int]] = []
        self.preempted = 0
        self.cached: int | None = None
        self.period = 0
        self._has_log_probs = True

    def add(self, output: TokenOutput) -> None:
        if self.cached is None:
            self.cached = output.extra_fields.get("num_cached_tokens")
        self.preempted += output.num_preempted or 0
        if not output.token_ids:
            return
        self.tokens.extend(output.token_ids)
        self._has_log_probs &= output.log_probs is not None
        self.log_probs.extend(output.log_probs or [])
        version = output.extra_fields.get("global_steps")
        if self.segments and self.segments[-1][0] == version:
            self.segments[-1][1] += len(output.token_ids)
        else:
            self.segments.append([version, len(output.token_ids)])

    def output(self, reason: str) -> TokenOutput:
        versions = [version for version, _ in self.segments] or [None]
        return TokenOutput(
            token_ids=self.tokens,
            log_probs=self.log_probs if self._has_log_probs else [],
            stop_reason=reason,
            num_preempted=self.preempted,
            extra_fields={
                "global_steps": versions[-1],
                "min_global_steps": versions[0],
                "max_global_steps": versions[-1],
                "num_cached_tokens": self.cached,
                SEGMENTS: self.segments,
                REPETITION: self.period,
            },
        )
