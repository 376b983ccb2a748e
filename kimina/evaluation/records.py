"""The record of one sample, and the file of them.

``samples.jsonl`` (or ``samples.jsonl.gz``) holds one JSON object a sample. A sample succeeds when Lean proved it and no
format check is violated. A sample without violation on which Lean gave no verdict (`unverified`, or not asked) says
nothing: it is no failure, it leaves n.
"""

import gzip
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from kimina.durable import JsonLines, to_json, write_bytes
from kimina.errors import InfrastructureError

PROVED = "proved"
UNVERIFIED = "unverified"


@dataclass(frozen=True)
class LeanMessage:
    """A message of Lean; lines count from 1 in the judged Lean code, columns from 0. ``severity``: error, warning or info."""

    severity: str
    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Outcome:
    """One sample: what the model wrote and what became of it.

    ``verdict`` is a verdict of Lean, or None where Lean was not asked because a format check had already failed.
    ``message`` is Lean's first error, if there is one, ``messages`` all that it said. ``turn`` is 2 for a fix turn, and
    ``sample`` is then that of the first attempt. ``generation_s`` and ``lean_s`` are seconds, None where nobody measured.
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
    message: str | None = None
    turn: int = 1
    messages: tuple[LeanMessage, ...] = ()
    generation_s: float | None = None
    lean_s: float | None = None

    @property
    def success(self) -> bool:
        """Proved, in the required format."""
        return self.verdict == PROVED and not self.violations

    @property
    def judged(self) -> bool:
        """Whether success or failure is known."""
        return bool(self.violations) or self.verdict not in (None, UNVERIFIED)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Outcome":
        """Make an outcome of a JSON object; keys that an outcome does not have are left aside.

        Raises:
            ValueError: a key is missing.
        """
        known = {each.name for each in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        missing = sorted(known - values.keys() - {"response", "message", "turn", "messages", "generation_s", "lean_s"})
        if missing:
            raise ValueError(f"a sample record lacks {', '.join(missing)}")
        values["violations"] = tuple(values["violations"])
        values["messages"] = tuple(LeanMessage(**message) for message in values.get("messages", ()))
        return cls(**values)


@dataclass(frozen=True)
class ProblemResult:
    """All samples of one problem.

    ``n`` counts the samples whose success is known, ``c`` the successes, ``proofs`` those that Lean proved, in whatever
    format, and ``unverified`` those that n lacks; all of first attempts. ``fixes`` holds the fix turn by its sample.
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
    def of(cls, outcomes: Sequence[Outcome]) -> "ProblemResult":
        """Count the samples of one problem (at least one)."""
        first = outcomes[0]
        judged = [outcome for outcome in outcomes if outcome.judged]
        return cls(
            problem_id=first.problem_id,
            family=first.family,
            level=first.level,
            n=len(judged),
            c=sum(outcome.success for outcome in judged),
            proofs=sum(outcome.verdict == PROVED for outcome in outcomes),
            unverified=len(outcomes) - len(judged),
            outcomes=tuple(outcomes),
        )

    @property
    def solved(self) -> bool:
        """Whether any sample succeeded."""
        return self.c > 0


def group_by_problem(outcomes: Iterable[Outcome]) -> list[ProblemResult]:
    """Return the problems in the order of their first sample; a sample that was recorded twice counts once, the later.

    Raises:
        ValueError: one problem has samples of two families or levels.
    """
    by_problem: dict[str, dict[int, Outcome]] = {}
    for outcome in outcomes:
        samples = by_problem.setdefault(outcome.problem_id, {})
        samples[outcome.sample] = outcome
        first = next(iter(samples.values()))
        if (first.family, first.level) != (outcome.family, outcome.level):
            raise ValueError(f"problem {outcome.problem_id} is recorded under two families or levels")
    return [ProblemResult.of([samples[index] for index in sorted(samples)]) for samples in by_problem.values()]


def write_outcomes(path: str | os.PathLike[str], outcomes: Iterable[Outcome]) -> Path:
    """Write the records in one step, compressed where the name ends in ``.gz``.

    Raises:
        InfrastructureError: the file cannot be written.
    """
    content = "".join(to_json(asdict(outcome)) + "\n" for outcome in outcomes).encode("utf-8", errors="surrogatepass")
    if Path(path).suffix == ".gz":
        # Without a time stamp the same records give the same bytes.
        content = gzip.compress(content, compresslevel=6, mtime=0)
    return write_bytes(path, content)


def append_outcomes(path: str | os.PathLike[str], outcomes: Iterable[Outcome]) -> None:
    """Append records to a plain ``samples.jsonl`` and sync it, so that a killed evaluation goes on where it stood."""
    JsonLines(path).append(asdict(outcome) for outcome in outcomes)


def read_outcomes(path: str | os.PathLike[str]) -> list[Outcome]:
    """Read records; a last line that a kill tore is dropped.

    Raises:
        InfrastructureError: the file is missing or damaged, or a record lacks a key.
    """
    path = Path(path)
    if not path.exists():
        raise InfrastructureError(f"{path} does not exist: the evaluation that writes it has not run")
    try:
        rows = _read_compressed(path) if path.suffix == ".gz" else JsonLines(path).read()
        return [Outcome.from_record(row) for row in rows]
    except (ValueError, EOFError, OSError) as error:
        raise InfrastructureError(f"{path} is damaged: {error}. Remove it and run the evaluation again.") from error


def _read_compressed(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass") as file:
        return [json.loads(line) for line in file if line.strip()]
