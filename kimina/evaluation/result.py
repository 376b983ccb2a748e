"""The result of one evaluation: counts, rates with intervals, lengths, violations, verdicts, by family and level."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kimina.errors import InfrastructureError
from kimina.evaluation.estimators import best_at_k, pass_values
from kimina.evaluation.intervals import Interval, rate_interval
from kimina.evaluation.problem_counts import ProblemCounts, mean_generations
from kimina.evaluation.records import Outcome, ProblemResult, group_by_problem
from kimina.evaluation.store import how_to_complete, read_outcomes, read_prompt_set

SUMMARY_SCHEMA = 2
DEFAULT_KS = (1, 8, 64)
#: The prompt set as it was asked, in an evaluation's folder.
PROMPTS = "prompts.parquet"


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
    def of(
        cls, label: str, outcomes: Iterable[Outcome], prompt_set: Sequence[tuple[str, str, int]] | None = None
    ) -> "EvalResult":
        """Group samples into problems.

        Args:
            prompt_set: (problem id, family, level) of every problem that was to be asked, in order. Problems without a
                sample are part of the result then, with n = 0. None: the problems are those that have samples.

        Raises:
            ValueError: a sample is of no problem of the prompt set, or of another family or level.
        """
        found = group_by_problem(outcomes)
        if prompt_set is None:
            return cls(label, tuple(found))
        by_id = {problem.problem_id: problem for problem in found}
        problems = tuple(by_id.pop(asked[0], None) or ProblemResult.without_samples(*asked) for asked in prompt_set)
        if by_id:
            raise ValueError(f"{len(by_id)} problems with samples are not in the prompt set, such as {next(iter(by_id))}")
        for problem, asked in zip(problems, prompt_set, strict=True):
            if (problem.problem_id, problem.family, problem.level) != tuple(asked):
                raise ValueError(f"problem {problem.problem_id} is of another family or level in the prompt set")
        return cls(label, problems)

    @classmethod
    def read(
        cls, label: str, folder: str | Path, *, texts: bool = True, expected: Mapping[str, Any] | None = None
    ) -> "EvalResult":
        """Read the folder of an evaluation.

        The problems are those of the prompt set that it was asked (``prompts.parquet`` in the folder), whether they have
        samples or not. Without that file they are those that have samples.

        Args:
            texts: without them responses, feedback and Lean's messages are left empty; enough for every number.
            expected: the `summary` that was written when the evaluation ended. Records that came to less than it says are
                refused: a part was lost since.

        Raises:
            InfrastructureError: the records are missing, damaged, or fewer than ``expected`` says.
        """
        prompts = Path(folder) / PROMPTS
        try:
            result = cls.of(
                label, read_outcomes(folder, texts=texts), read_prompt_set(prompts) if prompts.exists() else None
            )
        except ValueError as error:
            raise InfrastructureError(f"{folder} is damaged: {error}") from error
        wanted = (expected or {}).get("samples", 0), ((expected or {}).get("error_fixing") or {}).get("fix_turns", 0)
        for noun, found, count in (("samples", result.outcomes, wanted[0]), ("fix turns", result.fixes, wanted[1])):
            if len(found) < count:
                raise InfrastructureError(
                    f"{folder} holds {len(found)} of the {count} {noun} that it had when the evaluation ended: parts of the "
                    f"records are missing. Put them back, or {how_to_complete(folder)}."
                )
        return result

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """(n, c) of each problem: samples whose success is known, and successes."""
        return [(problem.n, problem.c) for problem in self.problems]

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """All first attempts."""
        return [outcome for problem in self.problems for outcome in problem.outcomes]

    @cached_property
    def fixes(self) -> list[Outcome]:
        """All fix turns."""
        return [fix for problem in self.problems for fix in problem.fixes.values()]

    @property
    def samples_per_problem(self) -> int:
        """The largest number of first attempts that a problem has, verified or not."""
        return max((problem.n + problem.unverified for problem in self.problems), default=0)

    @property
    def without_samples(self) -> int:
        """Number of problems of the prompt set that have no sample at all: the evaluation is not complete."""
        return sum(not problem.outcomes and not problem.n for problem in self.problems)

    @property
    def without_verdict(self) -> int:
        """Number of problems of which no sample was judged (those without a sample among them); no rate has them."""
        return sum(problem.n == 0 for problem in self.problems)

    def where(self, keep: Callable[[ProblemResult], bool]) -> "EvalResult":
        """Return the result on some of the problems."""
        return EvalResult(self.label, tuple(problem for problem in self.problems if keep(problem)))

    def pass_at_k(self, k: int, *, seed: int = 0) -> Rate:
        """Mean unbiased pass@k over the problems with at least k verified samples, with its 95 % interval."""
        return _rate(pass_values(self.counts, k), seed)

    def best_at_k(self, k: int, *, seed: int = 0) -> Rate:
        """Mean best@k as verl computes it, draws *with* replacement; it is not pass@k. None above the samples there are."""
        values = [best_at_k(n, c, k) if n >= k else None for n, c in self.counts]
        return _rate(values, seed)

    def proved_at_k(self, k: int, *, seed: int = 0) -> Rate:
        """Pass@k with the format ignored: a sample counts when Lean proved the statement that was asked."""
        return _rate(pass_values([problem.proof_counts for problem in self.problems], k), seed)

    def proof_rate(self, *, seed: int = 0) -> Rate:
        """Mean share of samples that Lean proved, whatever the format: samples that Lean did not see count as unproved."""
        return self.proved_at_k(1, seed=seed)

    def pass_at_k_fixed(self, k: int, *, seed: int = 0) -> Rate:
        """Mean pass@k of attempts with their fix turn: k first attempts and up to k corrections, so up to 2k generations.

        An attempt succeeds when its first answer or the fix of it does. Undefined without error fixing. See
        ``ProblemResult.fixed_counts`` for attempts whose fix is missing or unverified.
        """
        counts = [problem.fixed_counts or (0, 0) for problem in self.problems]
        return _rate(pass_values(counts, k), seed)

    def fix_generations(self, k: int) -> float | None:
        """Mean number of generations a problem that k first attempts with their fix turns took; None where undefined."""
        return mean_generations([ProblemCounts.of(problem) for problem in self.problems], k)

    @cached_property
    def has_fix_turns(self) -> bool:
        """Whether the error-fixing protocol was followed."""
        return any(outcome.feedback is not None or outcome.no_fix is not None for outcome in self.outcomes)

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
        return _count(code for outcome in self.outcomes for code in set(outcome.violations))

    def verdicts(self) -> dict[str, int]:
        """Number of samples by verdict, ``not_checked`` where Lean was not asked."""
        return _count(outcome.verdict or "not_checked" for outcome in self.outcomes)

    @property
    def unverified(self) -> int:
        """Number of first attempts about which nothing is known; they are left out of every rate."""
        return sum(problem.unverified for problem in self.problems)

    @property
    def unverified_share(self) -> float | None:
        """Share of all answers, fix turns included, about which nothing is known."""
        answers = len(self.outcomes) + len(self.fixes)
        return (self.unverified + sum(not fix.judged for fix in self.fixes)) / answers if answers else None

    def families(self) -> list[str]:
        """The families in alphabetical order."""
        return sorted({problem.family for problem in self.problems})

    def levels(self) -> list[int]:
        """The difficulty levels in ascending order."""
        return sorted({problem.level for problem in self.problems})

    def summary(self, ks: Sequence[int] = DEFAULT_KS, *, seed: int = 0, groups: bool = True) -> dict[str, Any]:
        """Return the metrics as a JSON-ready mapping (its ``schema`` rises when a key changes its meaning).

        ``problems`` is the size of the prompt set. ``pass_at_k``, ``best_at_k`` and ``proved_at_k`` have an entry for each
        of ``ks``, with interval; ``pass_at_every_k`` is the list of bare values for k = 1, 2, … up to the samples a
        problem, null where k is more than any problem has verified ones.
        """
        tokens = {
            "all": None,
            "solved": lambda outcome: outcome.success,
            "wrong": lambda outcome: outcome.judged and not outcome.success,
            "truncated": lambda outcome: not outcome.finished,
        }
        result: dict[str, Any] = {
            "schema": SUMMARY_SCHEMA,
            "label": self.label,
            "problems": len(self.problems),
            "problems_without_samples": self.without_samples,
            "problems_without_verdict": self.without_verdict,
            "samples": len(self.outcomes),
            "samples_per_problem": self.samples_per_problem,
            "unverified": self.unverified,
            "unverified_share": self.unverified_share,
            "solved_by_any_sample": sum(problem.solved for problem in self.problems),
            "pass_at_k": {str(k): self.pass_at_k(k, seed=seed).to_dict() for k in ks},
            "pass_at_every_k": [_mean(pass_values(self.counts, k)) for k in range(1, self.samples_per_problem + 1)],
            "best_at_k": {str(k): self.best_at_k(k, seed=seed).to_dict() for k in ks},
            "proved_at_k": {str(k): self.proved_at_k(k, seed=seed).to_dict() for k in ks},
            "proof_rate": self.proof_rate(seed=seed).to_dict(),
            "proof_rate_in_format": self.pass_at_k(1, seed=seed).to_dict(),
            "format_rate": self.format_rate(seed=seed).to_dict(),
            "mean_response_tokens": {name: self.mean_tokens(keep) for name, keep in tokens.items()},
            "truncated_samples": sum(not outcome.finished for outcome in self.outcomes),
            "truncated_share": _mean([float(not outcome.finished) for outcome in self.outcomes]),
            "violations": self.violations(),
            "verdicts": self.verdicts(),
            "error_fixing": self._fix_summary(ks, seed),
        }
        if groups:
            result["by_level"] = {
                str(level): self._where_level(level).summary(ks, seed=seed, groups=False) for level in self.levels()
            }
            result["by_family"] = {
                family: self._where_family(family).summary(ks, seed=seed, groups=False) for family in self.families()
            }
        return result

    def _fix_summary(self, ks: Sequence[int], seed: int) -> dict[str, Any] | None:
        """The numbers of the error-fixing protocol; None where it was not followed.

        ``equal_budget`` sets pass@k without fix turns beside pass@(k/2) with them: at most k generations each.
        """
        if not self.has_fix_turns:
            return None
        rates = {k: self.pass_at_k_fixed(k, seed=seed) for k in sorted({*ks, *(k // 2 for k in ks if k % 2 == 0)})}
        return {
            "pass_at_k_fixed": {
                str(k): {**rates[k].to_dict(), "generations_at_most": 2 * k, "generations": self.fix_generations(k)} for k in ks
            },
            "equal_budget": {
                str(k): {"without_fix": self.pass_at_k(k, seed=seed).to_dict(), "with_fix": rates[k // 2].to_dict()}
                for k in ks
                if k % 2 == 0
            },
            "fix_turns": len(self.fixes),
            "fixed": sum(fix.success for fix in self.fixes),
            "unverified": sum(not fix.judged for fix in self.fixes),
            "verdicts": _count(fix.verdict or "not_checked" for fix in self.fixes),
            "mean_response_tokens": _mean([fix.response_tokens for fix in self.fixes]),
            "no_fix_turn": _count(outcome.no_fix for outcome in self.outcomes if outcome.no_fix is not None),
            "not_made": sum(
                outcome.feedback is not None and outcome.sample not in problem.fixes
                for problem in self.problems
                for outcome in problem.outcomes
            ),
        }

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
    return Rate(_mean(defined), rate_interval(defined, seed=seed), len(defined))


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that are defined, None where none is."""
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if defined else None


def _count(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, the commonest first."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
