"""Whom an evaluation asks, and what: any model, any prompt set, and what identifies each.

``evaluation.model`` is a folder in Hugging Face format, a hub name, the folder of an rl or sft artifact, or ``start`` for
the model that the experiment's RL starts from. ``evaluation.prompts`` is a parquet file of stage=data, or JSON Lines with
``id``, ``statement`` and optionally ``informal`` (or ``problem``).
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kimina.data.prompts import misfit, prompt_row, read_rows
from kimina.data.sources import digest_of_files
from kimina.errors import InfrastructureError, UserError
from kimina.experiment.artifact import Artifact
from kimina.lean.statement import Statement

#: The experiment's own models: the one that RL starts from, and the one that RL makes.
START, TRAINED = "start", "trained"
#: Where the model lies in the folders of the stages that make one.
MODEL_FOLDERS = {"rl": "hf", "sft": "model"}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.\-]*/[\w.\-]+")
_MODEL_SUFFIXES = (".json", ".safetensors", ".bin", ".txt", ".jinja", ".model")
_ODD_IN_NAMES = re.compile(r"[^\w.\-+]+")


@dataclass(frozen=True)
class NamedModel:
    """A model that was named. ``label`` names its evaluation's folder, ``identity`` is what its hash has of it."""

    path: Path | str
    label: str
    identity: str


def is_hub_name(text: str) -> bool:
    """Whether ``text`` can be the name of a model on the hub: no folder of this machine, and ``OWNER/NAME``."""
    return not Path(text).expanduser().exists() and _HUB_NAME.fullmatch(text) is not None


def named_model(text: str) -> NamedModel:
    """Return the model that ``evaluation.model`` names. What lies in a folder counts, not where the folder lies.

    Raises:
        UserError: there is no such model, or the artifact is not finished.
    """
    folder = Path(text).expanduser()
    if not folder.exists():
        if is_hub_name(text):
            return NamedModel(text, _label(text.rpartition("/")[2]), text)
        raise UserError(f"evaluation.model={text}: there is no such folder, and hub names are OWNER/NAME.")
    around = folder.parent if folder.name in MODEL_FOLDERS.values() else folder
    if (artifact := _artifact(around)) is not None:
        return _model_of_artifact(text, artifact)
    if not (folder / "config.json").is_file() and (folder / "model" / "config.json").is_file():
        folder = folder / "model"  # a prepared warm start
    if not (folder / "config.json").is_file():
        raise UserError(
            f"evaluation.model={text}: the folder holds no model (no config.json) and no artifact (no manifest.json).\n"
            "  type: evaluation.model=FOLDER of a model in Hugging Face format, OWNER/NAME, or outputs/rl/…"
        )
    return NamedModel(folder, _label(folder.resolve().name), f"files {digest_of_model(folder)}")


def _artifact(folder: Path) -> Artifact | None:
    """The artifact whose folder this is, if it is one; a prepared warm start has a manifest too, of another kind."""
    artifact = Artifact.at(folder.resolve())
    return artifact if "stage" in artifact.manifest() else None


def _model_of_artifact(text: str, artifact: Artifact) -> NamedModel:
    manifest = artifact.manifest()
    stage = manifest["stage"]
    if stage not in MODEL_FOLDERS:
        raise UserError(
            f"evaluation.model={text}: an artifact of stage={stage} holds no model; those of {' and '.join(MODEL_FOLDERS)} do."
        )
    folder = artifact.file(MODEL_FOLDERS[stage])
    if not artifact.is_done or not (folder / "config.json").is_file():
        raise UserError(f"evaluation.model={text}: this artifact is not finished ({artifact.describe()}); run its command first.")
    return NamedModel(folder, _label(manifest["name"] if stage == "rl" else f"{manifest['name']}-start"), manifest["hash"])


def digest_of_model(folder: Path) -> str:
    """Return the SHA-256 of names and contents of a model's files (weights, configuration, tokenizer, chat template).

    Raises:
        InfrastructureError: one of them can't be read.
    """
    digest = hashlib.sha256()
    try:
        for file in sorted(folder.iterdir()):
            if file.suffix in _MODEL_SUFFIXES and file.is_file():
                stat = file.stat()
                digest.update(f"{file.name} {_digest(file, stat.st_size, stat.st_mtime_ns)}\n".encode())
    except OSError as error:
        raise InfrastructureError(f"cannot read the model in {folder}: {error.strerror or error}") from error
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _digest(file: Path, size: int, changed: int) -> str:
    """The file's SHA-256; size and time of change are there for the memory of it, weights are large."""
    return digest_of_files([file])


def prompts_identity(evaluation: Mapping[str, Any]) -> str | None:
    """Return the digest of ``evaluation.prompts``, None where the recipe's split is asked."""
    named = evaluation["prompts"]
    return None if named is None else digest_of_files([Path(named).expanduser()])


def read_prompts(named: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a prompt set's file in verl's schema; the ids of the problems differ.

    Raises:
        UserError: a row can't be asked (no theorem, no id, an id that occurs twice); it is named.
        InfrastructureError: the file can't be read.
    """
    path = Path(named).expanduser()
    rows = _json_rows(path) if path.suffix == ".jsonl" else read_rows(path)
    check_prompts(rows, f"evaluation.prompts={named}")
    return rows


def check_prompts(rows: Sequence[Mapping[str, Any]], at: str) -> None:
    """Check that every row of a prompt set can be asked and that the ids differ; ``at`` says where the rows are from.

    Raises:
        UserError: names the row.
    """
    if not rows:
        raise UserError(f"{at}: the file has no rows.")
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        if problem := misfit(row):
            raise UserError(
                f"{at}, row {number}: not a row of stage=data ({problem}).\n"
                "  type: evaluation.prompts=outputs/data/NAME/test.parquet, or a .jsonl file with id and statement"
            )
        problem_id = row["extra_info"]["problem_id"]
        try:
            Statement.parse(row["extra_info"]["statement"])
        except UserError as error:
            raise UserError(f"{at}, row {number}: {error}") from error
        if problem_id in seen:
            raise UserError(f"{at}, row {number}: the id {problem_id!r} occurs twice.")
        seen.add(problem_id)


def _json_rows(path: Path) -> list[dict[str, Any]]:
    at = f"evaluation.prompts={path}"
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror or error}") from error
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UserError(f"{at}, line {number}: not JSON ({error}); one object a line is expected") from error
        except RecursionError as error:
            raise UserError(f"{at}, line {number}: JSON nested too deeply; one flat object a line is expected") from error
        if not isinstance(row, dict):
            raise UserError(f"{at}, line {number}: one JSON object a line is expected")
        informal = row.get("informal", row.get("problem"))
        texts = {"statement": row.get("statement"), "informal": "" if informal is None else informal}
        problem_id = row.get("id")
        if isinstance(problem_id, int) and not isinstance(problem_id, bool):
            problem_id = str(problem_id)
        for key, value in {"id": problem_id, **texts}.items():
            if not isinstance(value, str) or (key != "informal" and not value.strip()):
                raise UserError(f"{at}, line {number}: {key!r} is missing or no text")
            if not _is_unicode(value):
                raise UserError(f"{at}, line {number}: {key!r} holds half a surrogate pair, which is no text")
        try:
            name = Statement.parse(texts["statement"]).name
        except UserError as error:
            raise UserError(f"{at}, line {number}: {error}") from error
        rows.append(
            prompt_row(source=path.name, split="test", index=len(rows), problem_id=problem_id, name=name, **texts)
        )
    return rows


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _label(text: str) -> str:
    return _ODD_IN_NAMES.sub("-", text)[:100] or "model"
