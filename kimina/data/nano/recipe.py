"""The data stage of the nano recipe: draw the splits, check every reference proof with Lean, write parquet."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kimina.data.nano.build import Splits, build_splits
from kimina.data.nano.problem import Problem
from kimina.data.prompts import prompt_row, write_rows
from kimina.errors import InfrastructureError
from kimina.lean.verdict import CheckRequest, CheckResult, Verdict
from kimina.lean.verifier import Verifier

SOURCE = "kimina-lab/nano"
SPLITS = ("train", "dev", "test")


def problem_splits(recipe: Mapping) -> Splits:
    """Return the problems that ``recipe`` asks for; the same recipe gives the same problems."""
    return build_splits(recipe["seed"], recipe["train_count"], recipe["dev_count"], recipe["test_count"])


def prepare_nano(recipe: Mapping, verifier: Verifier, folder: Path, on_progress: Callable[[int, int], None]) -> dict:
    """Write ``train.parquet``, ``dev.parquet`` and ``test.parquet`` into ``folder`` and return a summary.

    ``on_progress`` is called with (checked proofs, all proofs).

    Raises:
        InfrastructureError: a reference proof could not be verified, or Lean refused one: the generator and the
            library of the embedded Lean don't fit together then.
    """
    splits = problem_splits(recipe)
    named = [(split, index, p) for split in SPLITS for index, p in enumerate(getattr(splits, split))]
    _check_references(named, verifier, on_progress)
    summary: dict = {"splits": {}}
    digest = hashlib.sha256()
    for split in SPLITS:
        rows = [row_of(problem, split, index) for of, index, problem in named if of == split]
        write_rows(rows, folder / f"{split}.parquet")
        digest.update(json.dumps(rows, sort_keys=True).encode())
        summary["splits"][split] = {
            "statements": len(rows),
            "normal_forms": len({p.normal_form for of, _, p in named if of == split}),
        }
    summary["fingerprint"] = digest.hexdigest()
    return summary


def row_of(problem: Problem, split: str, index: int) -> dict:
    """Return the parquet row of ``problem``."""
    return prompt_row(
        source=SOURCE,
        split=split,
        index=index,
        problem_id=f"{split}-{index:05d}-{problem.family}-{problem.level}",
        name=problem.name,
        statement=problem.statement,
        informal=problem.informal,
        family=problem.family,
        level=problem.level,
        reference_proof=problem.lean(problem.proof()),
    )


def _check_references(
    named: Sequence[tuple[str, int, Problem]], verifier: Verifier, on_progress: Callable[[int, int], None]
) -> None:
    requests = [CheckRequest(f"{split}-{i}", p.lean(p.proof()), p.name) for split, i, p in named]
    checked = 0

    def count(_: CheckResult) -> None:
        nonlocal checked
        checked += 1
        on_progress(checked, len(requests))

    results = verifier.check(requests, on_result=count)
    refused = [(r, q) for r, q in zip(results, requests, strict=True) if r.verdict is not Verdict.PROVED]
    if refused:
        result, request = refused[0]
        errors = "\n".join(message.text for message in result.messages[:3]) or result.detail
        raise InfrastructureError(
            f"{len(refused)} of {len(requests)} reference proofs of the nano task were not proved, the first is "
            f"{result.verdict.value}:\n{request.code}\n{errors}"
        )
