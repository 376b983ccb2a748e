"""The record of one sample, and all samples of one problem.

A sample succeeds when Lean proved it and no format check is violated. A sample without violation on which Lean was asked and
gave no verdict (`unverified`) says nothing: it is no failure, it leaves n. How records lie on disk is told in
``kimina.evaluation.store``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

PROVED = "proved"
UNVERIFIED = "unverified"
#: Checks that say whether Lean's verdict is about the statement at all: a proof that violates one is no proof of it.
PROOF_CHECKS = frozenset({"statement_changed", "forbidden_construct"})


class LeanMessage(NamedTuple):
    """One message of Lean. Lines count from 1 in the judged Lean code, columns from 0; see ``kimina.lean.verdict``."""

    severity: str
    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Outcome:
    """One answer of the model: what it wrote and what became of it.

    ``verdict`` is a verdict of Lean, or None where Lean was not asked. ``turn`` 1 is a first attempt; 2 is the one
    correction of a failed first attempt, whose index ``sample`` then is. ``generation_s`` is the answer's share (by
    tokens) of the wall time of generation, ``lean_s`` the time of its check (0 when the verdict was known already), both
    in seconds. ``canary`` marks an answer to a statement that is known to be false.

    With error fixing every first attempt has either ``feedback``, the text on Lean's reply that its fix turn is asked
    with, or ``no_fix``, the reason why it gets no fix turn. Without error fixing it has neither.
    """

    problem_id: str
    family: str
    level: int
    sample: int
    verdict: str | None
    violations: tuple[str, ...]
    reward: float | None
    response_tokens: int
    finished: bool
    response: str = ""
    turn: int = 1
    messages: tuple[LeanMessage, ...] = ()
    generation_s: float | None = None
    lean_s: float | None = None
    canary: bool = False
    feedback: str | None = None
    no_fix: str | None = None

    @property
    def success(self) -> bool:
        """Proved, in the required format."""
        return self.verdict == PROVED and not self.violations

    @property
    def judged(self) -> bool:
        """Whether success or failure is known.

        Lean is not asked about an answer that a check refused or that has no Lean code: both have failed, and have a reward.
        """
        if self.verdict is None:
            return bool(self.violations) or self.reward is not None
        return bool(self.violations) or self.verdict != UNVERIFIED

    @property
    def proof(self) -> bool | None:
        """Whether Lean proved the statement, whatever the format; None where that is not known."""
        if not PROOF_CHECKS.isdisjoint(self.violations):
            return False
        if self.verdict is None:
            return False if self.judged else None
        return None if self.verdict == UNVERIFIED else self.verdict == PROVED

    @property
    def message(self) -> str | None:
        """The text of Lean's first error, if there is one."""
        return next((message.text for message in self.messages if message.severity == "error"), None)


@dataclass(frozen=True)
class ProblemResult:
    """All samples of one problem.

    ``n`` counts the first attempts whose success is known, ``c`` the successes, ``proofs`` those that Lean proved, in
    whatever format, and ``unverified`` those that n lacks. ``outcomes`` are the first attempts; ``fixes`` holds the
    corrections by the index of their first attempt. A problem of the prompt set that was never asked has n = 0.
    """

    problem_id: str
    family: str
    level: int
    n: int
    c: int
    proofs: int
    unverified: int
    outcomes: tuple[Outcome, ...] = ()
    fixes: dict[int, Outcome] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], fixes: Iterable[Outcome] = ()) -> "ProblemResult":
        """Count the first attempts of one problem (at least one)."""
        first = outcomes[0]
        judged = [outcome for outcome in outcomes if outcome.judged]
        return cls(
            problem_id=first.problem_id,
            family=first.family,
            level=first.level,
            n=len(judged),
            c=sum(outcome.success for outcome in judged),
            proofs=sum(outcome.proof is True for outcome in outcomes),
            unverified=len(outcomes) - len(judged),
            outcomes=tuple(outcomes),
            fixes={fix.sample: fix for fix in fixes},
        )

    @classmethod
    def without_samples(cls, problem_id: str, family: str, level: int) -> "ProblemResult":
        """A problem of the prompt set about which nothing is known."""
        return cls(problem_id, family, level, 0, 0, 0, 0)

    @property
    def solved(self) -> bool:
        """Whether any first attempt succeeded."""
        return self.c > 0

    @property
    def solved_with_fixes(self) -> bool:
        """Whether any first attempt or fix turn succeeded."""
        return self.solved or any(fix.success for fix in self.fixes.values())

    @cached_property
    def proof_counts(self) -> tuple[int, int]:
        """(n, c) with the format ignored: first attempts of which it is known whether Lean proved them, and those it did."""
        return sum(outcome.proof is not None for outcome in self.outcomes), self.proofs

    @cached_property
    def fixed_counts(self) -> tuple[int, int] | None:
        """(n, c) of attempts with their fix turn; None where some first attempt was not under the error-fixing protocol.

        An attempt succeeds when its first answer or its fix does. Where the first failed and its fix turn is missing or
        unverified, success is unknown and the attempt leaves n.
        """
        n = c = 0
        for outcome in self.outcomes:
            if outcome.feedback is None and outcome.no_fix is None:
                return None
            fix = self.fixes.get(outcome.sample) if outcome.feedback is not None else None
            known = fix is not None and fix.judged if outcome.feedback is not None else outcome.judged
            n += known
            c += outcome.success or (fix is not None and fix.success)
        return n, c


def group_by_problem(outcomes: Iterable[Outcome]) -> list[ProblemResult]:
    """Return the problems in the order of their first sample; a sample that was recorded twice counts once, the later.

    Canaries are left out. A fix turn whose first attempt is not there is left out too.

    Raises:
        ValueError: one problem has samples of two families or levels.
    """
    by_problem: dict[str, tuple[dict[int, Outcome], dict[int, Outcome]]] = {}
    kinds: dict[str, tuple[str, int]] = {}
    for outcome in outcomes:
        if outcome.canary:
            continue
        if kinds.setdefault(outcome.problem_id, (outcome.family, outcome.level)) != (outcome.family, outcome.level):
            raise ValueError(f"problem {outcome.problem_id} is recorded under two families or levels")
        turns = by_problem.setdefault(outcome.problem_id, ({}, {}))
        turns[outcome.turn - 1][outcome.sample] = outcome
    return [
        ProblemResult.of(
            [first[index] for index in sorted(first)], [fixes[index] for index in sorted(fixes) if index in first]
        )
        for first, fixes in by_problem.values()
        if first
    ]
