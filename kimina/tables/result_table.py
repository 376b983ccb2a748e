"""The comparison of a model before and after training, as data.

Everything that the terminal, the page and the exports show is computed here once, so that they cannot disagree.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kimina.errors import UserError
from kimina.evaluation.comparison import McNemar, PairedGain, holm, mcnemar_solved, paired_gain, paired_t, verdict
from kimina.evaluation.estimators import exact_pass_at_k
from kimina.evaluation.records import ProblemResult
from kimina.evaluation.result import DEFAULT_KS, EvalResult, Rate

RESULT_SCHEMA = 1
OVERALL, LEVEL, FAMILY = "overall", "level", "family"


@dataclass(frozen=True)
class Cell:
    """pass@k of both runs on the problems with k verified samples in both, and the paired gain.

    ``p`` is the gain's p-value, adjusted (Holm) for the number of rows of the same grouping.
    """

    k: int
    before: Rate
    after: Rate
    gain: PairedGain | None
    p: float | None

    @property
    def verdict(self) -> str:
        """``higher``, ``lower``, ``not distinguishable``, or ``undefined`` where there are too few samples."""
        return "undefined" if self.gain is None or self.p is None else verdict(self.gain.gain, self.p)

    def to_dict(self) -> dict[str, Any]:
        gain = self.gain
        return {
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "gain": gain.gain if gain else None,
            "gain_low": gain.interval.low if gain and gain.interval else None,
            "gain_high": gain.interval.high if gain and gain.interval else None,
            "problems": gain.problems if gain else 0,
            "p": gain.p if gain else None,
            "p_adjusted": self.p,
            "test": gain.test if gain else None,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Row:
    """All problems, one level or one family."""

    group: str
    name: str
    problems: int
    cells: tuple[Cell, ...]

    def cell(self, k: int) -> Cell:
        """Return the cell of pass@k."""
        return next(cell for cell in self.cells if cell.k == k)


@dataclass(frozen=True)
class Ability:
    """Which problems any sample solves, before and after: new ability, as opposed to higher rates on old ability.

    Problems without a verified sample in one of the runs are in none of the four classes.
    """

    samples: int
    both: int
    neither: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    test: McNemar

    def to_dict(self) -> dict[str, Any]:
        return {
            "samples_per_problem": self.samples,
            "solved_by_both": self.both,
            "solved_by_neither": self.neither,
            "gained": list(self.gained),
            "lost": list(self.lost),
            "p_mcnemar_exact": self.test.p,
            "verdict": verdict(len(self.gained) - len(self.lost), self.test.p),
        }


@dataclass(frozen=True)
class ResultTable:
    """The whole comparison. Rates are in [0, 1]; ``rows`` starts with the overall row."""

    ks: tuple[int, ...]
    seed: int
    rows: tuple[Row, ...]
    ability: Ability
    before: EvalResult
    after: EvalResult
    paired_t_p: float | None

    @property
    def overall(self) -> Row:
        """The row of all problems."""
        return self.rows[0]

    def grouped(self, group: str) -> list[Row]:
        """Return the rows of ``level`` or ``family``."""
        return [row for row in self.rows if row.group == group]

    @property
    def unverified(self) -> int:
        """Samples of either run about which Lean said nothing."""
        return self.before.unverified + self.after.unverified

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready mapping; ``schema`` rises when a key changes its meaning."""
        return {
            "schema": RESULT_SCHEMA,
            "ks": list(self.ks),
            "seed": self.seed,
            "problems": self.overall.problems,
            "rows": [
                {
                    "group": row.group,
                    "name": row.name,
                    "problems": row.problems,
                    "pass_at_k": {str(cell.k): cell.to_dict() for cell in row.cells},
                }
                for row in self.rows
            ],
            "ability": self.ability.to_dict(),
            "pass_at_1_paired_t_p": self.paired_t_p,
            "before": self.before.summary(self.ks, seed=self.seed, groups=False),
            "after": self.after.summary(self.ks, seed=self.seed, groups=False),
        }


def compare(before: EvalResult, after: EvalResult, *, ks: Sequence[int] = DEFAULT_KS, seed: int = 0) -> ResultTable:
    """Compare two evaluations of the same problems.

    Each gain is paired by problem: sign-flip test (McNemar's exact one, where every pass@k is 0 or 1) and a bootstrap
    interval over problems. p-values of the levels, and those of the families, are adjusted within their grouping.

    Raises:
        UserError: the two evaluations are not of the same problems, or there are none.
    """
    before, after = _aligned(before, after)
    pairs = list(zip(before.problems, after.problems, strict=True))
    ks = tuple(sorted(set(ks)))
    rows = [_row(OVERALL, "all", pairs, ks, seed)]
    rows += _grouped_rows(LEVEL, pairs, before.levels(), lambda problem: problem.level, ks, seed)
    rows += _grouped_rows(FAMILY, pairs, before.families(), lambda problem: problem.family, ks, seed)
    differences = [b.c / b.n - a.c / a.n for a, b in pairs if a.n and b.n]
    return ResultTable(
        ks=ks,
        seed=seed,
        rows=tuple(rows),
        ability=_ability(pairs, min(before.samples_per_problem, after.samples_per_problem)),
        before=before,
        after=after,
        paired_t_p=paired_t(differences),
    )


def _aligned(before: EvalResult, after: EvalResult) -> tuple[EvalResult, EvalResult]:
    of_before = {problem.problem_id: problem for problem in before.problems}
    of_after = {problem.problem_id: problem for problem in after.problems}
    if not of_before:
        raise UserError("there is nothing to compare: the evaluation before training holds no problem")
    apart = sorted(of_before.keys() ^ of_after.keys())
    if apart:
        shown = ", ".join(apart[:3]) + (" …" if len(apart) > 3 else "")
        raise UserError(
            f"the two evaluations are not of the same problems: {len(apart)} occur in only one of them ({shown}). "
            "A comparison is paired by problem: evaluate both models with the same data=… and evaluation=…"
        )
    order = sorted(of_before)
    return (
        replace(before, problems=tuple(of_before[name] for name in order)),
        replace(after, problems=tuple(of_after[name] for name in order)),
    )


Pair = tuple[ProblemResult, ProblemResult]


def _grouped_rows(
    group: str,
    pairs: list[Pair],
    names: Iterable[Any],
    key: Callable[[ProblemResult], Any],
    ks: tuple[int, ...],
    seed: int,
) -> list[Row]:
    rows = [_row(group, str(name), [pair for pair in pairs if key(pair[0]) == name], ks, seed) for name in names]
    for k in ks:
        tested = [row for row in rows if row.cell(k).gain is not None]
        adjusted = holm([row.cell(k).gain.p for row in tested])
        by_name = dict(zip((row.name for row in tested), adjusted, strict=True))
        rows = [_with_p(row, k, by_name.get(row.name)) for row in rows]
    return rows


def _with_p(row: Row, k: int, p: float | None) -> Row:
    return replace(row, cells=tuple(replace(cell, p=p) if cell.k == k else cell for cell in row.cells))


def _row(group: str, name: str, pairs: list[Pair], ks: tuple[int, ...], seed: int) -> Row:
    cells = []
    for k in ks:
        # Both rates and the gain rest on the same theorems: those with k verified samples in either run.
        usable = [(a, b) for a, b in pairs if a.n >= k and b.n >= k]
        before = EvalResult("before", tuple(a for a, _ in usable))
        after = EvalResult("after", tuple(b for _, b in usable))
        gain = paired_gain(
            [exact_pass_at_k(a.n, a.c, k) for a, _ in usable], [exact_pass_at_k(b.n, b.c, k) for _, b in usable], seed=seed
        )
        cells.append(
            Cell(
                k=k,
                before=before.pass_at_k(k, seed=seed),
                after=after.pass_at_k(k, seed=seed),
                gain=gain,
                p=gain.p if gain else None,
            )
        )
    return Row(group, name, len(pairs), tuple(cells))


def _ability(all_pairs: list[Pair], samples: int) -> Ability:
    # A theorem of which no sample could be verified is neither solved nor unsolved.
    pairs = [(a, b) for a, b in all_pairs if a.n and b.n]
    return Ability(
        samples=samples,
        both=sum(a.solved and b.solved for a, b in pairs),
        neither=sum(not a.solved and not b.solved for a, b in pairs),
        gained=tuple(b.problem_id for a, b in pairs if b.solved and not a.solved),
        lost=tuple(a.problem_id for a, b in pairs if a.solved and not b.solved),
        test=mcnemar_solved([a.solved for a, _ in pairs], [b.solved for _, b in pairs]),
    )
