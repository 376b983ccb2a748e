"""The rows of a paper's table as runs: how each is composed, where its artifacts lie, and what there is of it.

A row is its experiment file with what was typed beside the table's name. Composing costs a good part of a second, and a
table has dozens of rows, so the folders that a composition led to are kept below ``output_dir``, under a digest of
everything that composition reads.
"""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kimina.durable import read_json, write_json
from kimina.errors import InfrastructureError, UserError
from kimina.experiment.artifact import Artifact, Status
from kimina.experiment.compose import compose, resolved
from kimina.experiment.evaluation_inputs import START, TRAINED
from kimina.experiment.lock import lock_holder
from kimina.experiment.missing_methods import missing_methods
from kimina.experiment.options import CONF, EXPERIMENTS, REPOSITORY
from kimina.experiment.stages.finished_evaluation import counts_of
from kimina.experiment.stages.graph import build_graph
from kimina.lean.embedded.installation import installed_lean_version
from kimina.metrics_log import VALIDATION_NAME, MetricsLog
from kimina.tables.curves import training_curves
from kimina.tables.declaration import Row, TableDeclaration, parse_metric
from kimina.tables.paper_table import MeasuredRun, RowState, RowStatus
from kimina.tables.run_facts import machine_text

COMPOSED = "composed.json"
# States of rows that table.build=true makes.
TO_MAKE = (RowStatus.NOT_RUN, RowStatus.INTERRUPTED, RowStatus.FAILED)
FIX_TURNS = "evaluation.fix_turns"
# Files and folders of the user's own count by their content, which the digest of the configuration doesn't have.
_BY_CONTENT = (
    "model.path", "data.train_files", "data.val_files", "evaluation.prompts", "evaluation.model", "recipe.source",
    "recipe.test_source",
)  # fmt: skip
# What belongs to the table, not to its rows.
_NOT_OF_ROWS = ("stage", "table", "table.name", "table.build", "table.page", "experiments")


@dataclass(frozen=True)
class RowPlan:
    """How a row is made. ``folders`` (start, after, rl) is None, and ``complaint`` says why, where it doesn't compose.

    ``making`` are the words of the command that makes it, those that name its experiment and settings first.
    """

    words: tuple[str, ...]
    making: tuple[str, ...]
    folders: Mapping[str, str] | None
    complaint: str | None

    @property
    def command(self) -> str:
        """The line that makes it."""
        return shlex.join(["python", "run.py", *self.making])


def words_for_rows(words: Sequence[str]) -> list[str]:
    """What of a table's command line goes to every row."""
    return [word for word in words if word.partition("=")[0].lstrip("+") not in _NOT_OF_ROWS]


def plan_rows(
    declaration: TableDeclaration, words: Sequence[str], output_dir: str | Path, *, remember: bool = True
) -> dict[str, RowPlan]:
    """Compose every row that has an experiment whose methods exist; by row id.

    Args:
        remember: write down what composing led to. Without it nothing is written; what is remembered is used all the same.
    """
    path = Path(output_dir) / "table" / COMPOSED
    keep = not any(word.partition("=")[0].lstrip("+") in _BY_CONTENT for word in words)
    known = _known(path) if keep else {}
    plans: dict[str, RowPlan] = {}
    for_rows = [*_protocol(declaration, words), *words_for_rows(words)]
    for row in declaration.rows:
        if row.experiment is None or missing_methods(row.experiment):
            continue
        row_words = (f"experiments={row.experiment}", *row.settings, *for_rows)
        # The model that RL starts from needs no RL, and a row about the trained one no evaluation of the other.
        making = (*row_words, f"evaluation.model={START if row.model == START else TRAINED}", "stage=eval")
        key = "\0".join((_configuration_digest(), str(Path.cwd()), *row_words))
        if key not in known:
            folders, complaint = _compose(row_words)
            known[key] = {"folders": folders, "complaint": complaint}
        plans[row.id] = RowPlan(row_words, making, known[key]["folders"], known[key]["complaint"])
    if remember and keep and plans:
        write_json(path, {"digest": _configuration_digest(), "rows": known})
    return plans


def _protocol(declaration: TableDeclaration, words: Sequence[str]) -> list[str]:
    """What the columns need of every row's evaluation, unless something else was typed: a fix turn for error fixing."""
    fixing = any(column.metric and parse_metric(column.metric).fixed for column in declaration.columns)
    typed = any(word.partition("=")[0].lstrip("+") == FIX_TURNS for word in words)
    return [f"{FIX_TURNS}=1"] if fixing and not typed else []


def row_state(row: Row, plan: RowPlan | None) -> RowState:
    """What there is of a row now."""
    if row.experiment is None:
        return RowState(row, RowStatus.QUOTED)
    if missing := missing_methods(row.experiment):
        return RowState(row, RowStatus.NOT_BUILT, ", ".join(missing))
    assert plan is not None
    if plan.folders is None:
        return RowState(row, RowStatus.NOT_AT_THIS_SCALE, plan.complaint or "")
    artifact = Artifact.at(plan.folders["start" if row.model == "start" else "after"])
    known = {"command": plan.command, "folder": str(artifact.folder)}
    if artifact.is_done:
        return RowState(row, RowStatus.DONE, run=_measured(artifact, Artifact.at(plan.folders["rl"]), row), **known)
    needed = [artifact] if row.model == "start" else [artifact, Artifact.at(plan.folders["rl"])]
    for candidate in needed:
        if candidate.status is Status.RUNNING:
            status = RowStatus.RUNNING if lock_holder(candidate.folder) else RowStatus.INTERRUPTED
            return RowState(row, status, f"{candidate.stage}: {candidate.describe()}", **known)
        if candidate.status is Status.FAILED:
            return RowState(row, RowStatus.FAILED, f"{candidate.stage}: {_first_line(candidate.failure or '')}", **known)
    return RowState(row, RowStatus.NOT_RUN, **known)


def _compose(words: tuple[str, ...]) -> tuple[dict[str, str] | None, str | None]:
    """The folders of a row's artifacts, or why it doesn't compose."""
    try:
        tree = resolved(compose(words), words)
    except UserError as error:
        return None, _first_line(str(error))
    graph = build_graph(tree)
    return {"start": str(graph.before.folder), "after": str(graph.after.folder), "rl": str(graph.rl.folder)}, None


def _measured(artifact: Artifact, rl: Artifact, row: Row) -> MeasuredRun:
    manifest = artifact.manifest()
    trained = rl.manifest() if row.model == "after" else {}
    try:
        return _measured_by(artifact, manifest, trained, rl)
    except KeyError as error:
        raise InfrastructureError(
            f"{artifact.file('manifest.json')} is no manifest of a finished evaluation ({error} is missing).\n"
            f"  type: rm {artifact.file('manifest.json')}    (the evaluation then goes on from its records)"
        ) from error


def _measured_by(
    artifact: Artifact, manifest: Mapping[str, Any], trained: Mapping[str, Any], rl: Artifact
) -> MeasuredRun:
    settings: Mapping[str, Any] = manifest["config"]["evaluation"]
    facts = {
        "seed": manifest["seeds"]["seed"],
        "lean": manifest["lean"]["version"],
        "finished": manifest["finished"],
        "evaluation_seconds": manifest["seconds"],
        "training_seconds": trained.get("seconds"),
        "commit": (manifest.get("git") or {}).get("commit"),
        "machine": machine_text(manifest),
    }
    return MeasuredRun(
        problems=counts_of(artifact, manifest["prompt_set"]["problems"]),
        evaluation=settings["name"],
        expected=manifest["prompt_set"]["problems"],
        samples=settings["samples"],
        most_unverified=settings["max_unverified_share"],
        folder=str(artifact.folder),
        curves=training_curves(rl.metrics.read(), MetricsLog(rl.file(VALIDATION_NAME)).read()) if trained else None,
        facts=facts,
    )


def _known(path: Path) -> dict[str, dict[str, Any]]:
    """What is remembered; nothing where the file is of another configuration or no such file: composing again is cheap."""
    try:
        content = read_json(path) if path.exists() else None
    except InfrastructureError:
        return {}
    if not isinstance(content, dict) or content.get("digest") != _configuration_digest():
        return {}
    rows = content.get("rows")
    return {key: row for key, row in rows.items() if _is_composed(row)} if isinstance(rows, dict) else {}


def _is_composed(row: Any) -> bool:
    if not isinstance(row, dict) or not {"folders", "complaint"} <= row.keys():
        return False
    folders = row["folders"]
    return folders is None or (
        isinstance(folders, dict) and all(isinstance(folders.get(role), str) for role in ("start", "after", "rl"))
    )


@cache
def _configuration_digest() -> str:
    """Of everything that composition reads, and of the code that composes and names artifacts."""
    # Evaluations by the embedded Lean have its version in their names.
    digest = hashlib.sha256(f"{version('verl')} {installed_lean_version()}".encode())
    files = [*CONF.rglob("*.yaml"), *EXPERIMENTS.rglob("*.yaml"), *(REPOSITORY / "kimina" / "experiment").rglob("*.py")]
    for file in sorted(files):
        digest.update(f"\0{file.relative_to(REPOSITORY)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""
