"""The result of one evaluation: counts, rates with intervals, lengths, violations, verdicts, by family and level."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kimina.evaluation.estimators import pass_values
from kimina.evaluation.intervals import Interval, rate_interval
from kimina.evaluation.records import Outcome, ProblemResult, group_by_problem, read_outcomes

SUMMARY_SCHEMA = 1
DEFAULT_KS = (1, 8, 64)


@dataclass(frozen=True)
class Rate:
    """A mean of per-problem rates with its interval; ``n`` problems took part. ``value`` is None where undefined."""

    value: float | None
    interval: Interval | None
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready mapping with value, low, high, n and the interval's method."""
        return {
            "value": self.value,
            "low": self.interval.low if self.interval else None,
            "high": self.interval.high if self.interval else None,
            "n": self.n,
            "interval": self.interval.method if self.interval else None,
        }


@dataclass(frozen=True)
class EvalResult:
    """One model on one prompt set.

    Args:
        label: how the table calls it, such as "before".
        problems: one entry a problem, each with its samples.
    """

    label: str
    problems: tuple[ProblemResult, ...]

    @classmethod
    def of(cls, label: str, outcomes: Iterable[Outcome]) -> "EvalResult":
        """Group samples into problems."""
        return cls(label, tuple(group_by_problem(outcomes)))

    @classmethod
    def read(cls, label: str, path: str | Path) -> "EvalResult":
        """Read ``samples.jsonl`` or ``samples.jsonl.gz``; a folder is searched for either.

        Raises:
            InfrastructureError: the file is missing or damaged.
        """
        path = Path(path)
        if path.is_dir():
            plain = path / "samples.jsonl"
            path = plain if plain.exists() else path / "samples.jsonl.gz"
        return cls.of(label, read_outcomes(path))

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """(n, c) of each problem: samples whose success is known, and successes."""
        return [(problem.n, problem.c) for problem in self.problems]

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """All samples."""
        return [outcome for problem in self.problems for outcome in problem.outcomes]

    @property
    def samples_per_problem(self) -> int:
        """The largest number of samples that a problem has, verified or not."""
        return max((problem.n + problem.unverified for problem in self.problems), default=0)

    def where(self, keep: Callable[[ProblemResult], bool]) -> "EvalResult":
        """Return the result on some of the problems."""
        return EvalResult(self.label, tuple(problem for problem in self.problems if keep(problem)))

    def pass_at_k(self, k: int, *, seed: int = 0) -> Rate:
        """Mean unbiased pass@k over the problems with at least k verified samples, with its 95 % interval."""
        return _rate(pass_values(self.counts, k), seed)

    def proof_rate(self, *, seed: int = 0) -> Rate:
        """Mean share of samples that Lean proved, whatever the format: samples that Lean did not see count as unproved."""
        values = [problem.proofs / problem.n if problem.n else None for problem in self.problems]
        return _rate(values, seed)

    def format_rate(self, *, seed: int = 0) -> Rate:
        """Mean share of samples without a violation."""
        values = [
            sum(not outcome.violations for outcome in problem.outcomes) / len(problem.outcomes)
            for problem in self.problems
            if problem.outcomes
        ]
        return _rate(values, seed)

    def mean_tokens(self, keep: Callable[[Outcome], bool] | None = None) -> float | None:
        """Mean response length in tokens of the model's own tokenizer, of all samples or of some; None for no sample."""
        lengths = [outcome.response_tokens for outcome in self.outcomes if keep is None or keep(outcome)]
        return math.fsum(lengths) / len(lengths) if lengths else None

    def violations(self) -> dict[str, int]:
        """Number of samples that violate each check, the commonest first; a sample may violate several."""
        counter = Counter(code for outcome in self.outcomes for code in set(outcome.violations))
        return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))

    def verdicts(self) -> dict[str, int]:
        """Number of samples by verdict, ``not_checked`` where a format check had failed before Lean."""
        counter = Counter(outcome.verdict or "not_checked" for outcome in self.outcomes)
        return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))

    @property
    def unverified(self) -> int:
        """Number of samples about which nothing is known; they are left out of every rate."""
        return sum(problem.unverified for problem in self.problems)

    def families(self) -> list[str]:
        """The families in alphabetical order."""
        return sorted({problem.family for problem in self.problems})

    def levels(self) -> list[int]:
        """The difficulty levels in ascending order."""
        return sorted({problem.level for problem in self.problems})

    def summary(self, ks: Sequence[int] = DEFAULT_KS, *, seed: int = 0, groups: bool = True) -> dict[str, Any]:
        """Return the metrics as a JSON-ready mapping (its ``schema`` rises when a key changes its meaning)."""
        result: dict[str, Any] = {
            "schema": SUMMARY_SCHEMA,
            "label": self.label,
            "problems": len(self.problems),
            "samples": len(self.outcomes),
            "samples_per_problem": self.samples_per_problem,
            "unverified": self.unverified,
            "solved_by_any_sample": sum(problem.solved for problem in self.problems),
            "pass_at_k": {str(k): self.pass_at_k(k, seed=seed).to_dict() for k in ks},
            "proof_rate": self.proof_rate(seed=seed).to_dict(),
            "format_rate": self.format_rate(seed=seed).to_dict(),
            "mean_response_tokens": {
                "all": self.mean_tokens(),
                "solved": self.mean_tokens(lambda outcome: outcome.success),
                "not_solved": self.mean_tokens(lambda outcome: outcome.judged and not outcome.success),
            },
            "unfinished_samples": sum(not outcome.finished for outcome in self.outcomes),
            "violations": self.violations(),
            "verdicts": self.verdicts(),
        }
        if groups:
            result["by_level"] = {
                str(level): self._where_level(level).summary(ks, seed=seed, groups=False) for level in self.levels()
            }
            result["by_family"] = {
                family: self._where_family(family).summary(ks, seed=seed, groups=False) for family in self.families()
            }
        return result

    def _where_level(self, level: int) -> "EvalResult":
        return self.where(lambda problem: problem.level == level)

    def _where_family(self, family: str) -> "EvalResult":
        return self.where(lambda problem: problem.family == family)


def pass_curve(result: EvalResult, ks: Sequence[int], *, seed: int = 0) -> list[tuple[int, Rate]]:
    """Return pass@k with intervals for each k that at least nine of ten problems have verified samples for.

    All points rest on the same problems, those with enough samples for the largest k that is shown: a curve whose points
    rest on different problems would bend where the problems change.
    """
    enough = 0.9 * len(result.problems)
    shown = [k for k in sorted(ks) if result.problems and sum(n >= k for n, _ in result.counts) >= enough]
    if not shown:
        return []
    same = result.where(lambda problem: problem.n >= shown[-1])
    return [(k, same.pass_at_k(k, seed=seed)) for k in shown]


def _rate(values: Sequence[float | None], seed: int) -> Rate:
    defined = [value for value in values if value is not None]
    mean = math.fsum(defined) / len(defined) if defined else None
    return Rate(mean, rate_interval(defined, seed=seed), len(defined))
