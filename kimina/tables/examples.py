"""A few proofs worth looking at, the same theorem before and after training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kimina.evaluation.records import Outcome, ProblemResult
from kimina.tables.result_table import ResultTable

EXAMPLES = 6


@dataclass(frozen=True)
class Example:
    """One theorem with one sample of each run; ``why`` says what the pair shows."""

    why: str
    before: ProblemResult
    after: ProblemResult
    before_sample: Outcome
    after_sample: Outcome


def choose_examples(table: ResultTable, count: int = EXAMPLES) -> list[Example]:
    """Choose pairs by rule, not by hand: newly solved, most gained, most lost, no longer and never solved.

    Each theorem is shown once, and families that were not yet shown come first. A solved side shows its shortest proof; a
    failed one the sample that Lean read the furthest.
    """
    pairs = [
        (a, b) for a, b in zip(table.before.problems, table.after.problems, strict=True) if a.outcomes and b.outcomes
    ]
    by_rise = sorted(pairs, key=_rise)
    newly = [pair for pair in reversed(by_rise) if not pair[0].solved and pair[1].solved]
    risen = [pair for pair in reversed(by_rise) if pair[0].solved and _rise(pair) > 0]
    fallen = [pair for pair in by_rise if _rise(pair) < 0]
    unsolved = [pair for pair in pairs if not pair[0].solved and not pair[1].solved]
    plan = [
        ("not solved before, solved after", newly, 2, False, True),
        ("solved more often after", risen, 2, False, True),
        ("solved less often after", fallen, 1, True, False),
        ("solved by neither", unsolved, 1, False, False),
    ]
    chosen: list[Example] = []
    seen_problems: set[str] = set()
    seen_families: set[str] = set()
    for why, candidates, wanted, before_solved, after_solved in plan:
        for _ in range(wanted):
            pair = _next(candidates, seen_problems, seen_families)
            if pair is None or len(chosen) == count:
                break
            seen_problems.add(pair[0].problem_id)
            seen_families.add(pair[0].family)
            chosen.append(Example(why, *pair, _sample(pair[0], before_solved), _sample(pair[1], after_solved)))
    return chosen


def _next(candidates: Sequence[Any], problems: set[str], families: set[str]) -> Any:
    left = [pair for pair in candidates if pair[0].problem_id not in problems]
    fresh = [pair for pair in left if pair[0].family not in families]
    return next(iter(fresh or left), None)


def _rise(pair: tuple[ProblemResult, ProblemResult]) -> float:
    return _share(pair[1]) - _share(pair[0])


def _share(problem: ProblemResult) -> float:
    return problem.c / problem.n if problem.n else 0.0


def _sample(problem: ProblemResult, solved: bool) -> Outcome:
    wanted = [outcome for outcome in problem.outcomes if outcome.judged and outcome.success == solved]
    candidates = wanted or list(problem.outcomes)
    if solved:
        return min(candidates, key=lambda outcome: (outcome.response_tokens, outcome.sample))
    # A Lean error says more to a reader than a broken format or an answer that was cut off.
    return min(
        candidates,
        key=lambda outcome: (bool(outcome.violations), outcome.message is None, not outcome.finished, outcome.sample),
    )
