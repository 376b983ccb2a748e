"""What tables need of an evaluation: a few counts a problem, a thousandth of its samples.

``problems.json`` lies beside the samples. Tables of many rows are made from these files alone.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError
from kimina.evaluation.records import Outcome, ProblemResult

COUNTS_FILE = "problems.json"
# 2: answers without Lean code under reward=proof_only are failures; they had left n.
COUNTS_SCHEMA = 2


@dataclass(frozen=True)
class ProblemCounts:
    """The samples of one problem, counted.

    ``samples`` first attempts, ``n`` of them with a known outcome, ``c`` successes; ``n_fixed`` and ``c_fixed`` the same of
    attempts with their fix turn (None without error fixing), ``fixes`` fix turns; ``n_proof`` attempts of which it is known
    whether Lean proved them in whatever format, ``c_proof`` those that it did; ``well_formed`` ones without a violation,
    ``truncated`` ones that met the token limit, ``wrong`` known failures; ``tokens``, ``tokens_solved`` and ``tokens_wrong`` are
    sums of response tokens of all, successful and failed attempts.
    """

    problem_id: str
    family: str
    level: int
    samples: int
    n: int
    c: int
    n_fixed: int | None
    c_fixed: int | None
    fixes: int
    n_proof: int
    c_proof: int
    well_formed: int
    truncated: int
    wrong: int
    tokens: int
    tokens_solved: int
    tokens_wrong: int

    @classmethod
    def of(cls, problem: ProblemResult) -> "ProblemCounts":
        """Count the samples of one problem."""
        outcomes = problem.outcomes
        n_fixed, c_fixed = problem.fixed_counts or (None, None)
        n_proof, c_proof = problem.proof_counts
        wrong = [outcome for outcome in outcomes if outcome.judged and not outcome.success]
        return cls(
            problem_id=problem.problem_id,
            family=problem.family,
            level=problem.level,
            samples=len(outcomes),
            n=problem.n,
            c=problem.c,
            n_fixed=n_fixed,
            c_fixed=c_fixed,
            fixes=len(problem.fixes),
            n_proof=n_proof,
            c_proof=c_proof,
            well_formed=sum(not outcome.violations for outcome in outcomes),
            truncated=sum(not outcome.finished for outcome in outcomes),
            wrong=len(wrong),
            tokens=_tokens(outcomes),
            tokens_solved=_tokens([outcome for outcome in outcomes if outcome.success]),
            tokens_wrong=_tokens(wrong),
        )


def _tokens(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.response_tokens for outcome in outcomes)


def write_counts(folder: str | Path, problems: Sequence[ProblemResult]) -> Path:
    """Write ``problems.json`` into an evaluation's folder."""
    rows = [asdict(ProblemCounts.of(problem)) for problem in problems]
    return write_json(Path(folder) / COUNTS_FILE, {"schema": COUNTS_SCHEMA, "problems": rows})


def read_counts(folder: str | Path) -> tuple[ProblemCounts, ...]:
    """Read ``problems.json`` of an evaluation.

    Raises:
        InfrastructureError: the file is missing, damaged, or of another schema.
    """
    path = Path(folder) / COUNTS_FILE
    advice = "Remove the folder and run the evaluation again."
    if not path.exists():
        raise InfrastructureError(f"{path} does not exist: the evaluation in that folder was not finished by this program. {advice}")
    content: Any = read_json(path)
    if not isinstance(content, dict) or content.get("schema") != COUNTS_SCHEMA:
        raise InfrastructureError(f"{path} is no list of counts of schema {COUNTS_SCHEMA}. {advice}")
    names = {field.name for field in fields(ProblemCounts)}
    try:
        return tuple(ProblemCounts(**{name: row[name] for name in names}) for row in content["problems"])
    except (KeyError, TypeError) as error:
        raise InfrastructureError(f"{path} is damaged: {error!r}. {advice}") from error


def mean_generations(problems: Sequence[ProblemCounts], k: int) -> float | None:
    """Mean generations a problem that k first attempts and their fix turns come to: k (1 + fixes / samples).

    Over the problems that have k samples under error fixing; None where there is none.
    """
    asked = [problem for problem in problems if problem.n_fixed is not None and problem.samples >= max(k, 1)]
    used = [k * (1 + problem.fixes / problem.samples) for problem in asked]
    return math.fsum(used) / len(used) if used else None
