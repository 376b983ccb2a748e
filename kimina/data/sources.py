"""Where the rows of a prompt set come from: files on this machine, or a data set on the Hugging Face hub."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kimina.errors import InfrastructureError, UserError, nearest

_HUB_NAME = re.compile(r"[\w.\-]+/[\w.\-]+")
_SUFFIXES = (".parquet", ".jsonl", ".json")


def read_source(key: str, recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the data set that ``recipe[key]`` names; ``key`` is ``source`` or ``test_source``.

    A file (parquet, or one JSON object a line), a folder of such files, or a hub data set ``owner/name``. Of a folder
    and of a hub data set the split ``recipe[split]`` is read (``test_split`` for ``test_source``), of the hub at
    ``revision`` (``test_revision``).

    Raises:
        UserError: there is no such file, folder, data set or split, or a file is of another kind.
        InfrastructureError: a file can't be read, or the hub can't be reached.
    """
    before = key.removesuffix("source")
    name, split, revision = recipe[key], recipe[f"{before}split"], recipe[f"{before}revision"]
    files = local_files(name, split)
    if files is None:
        return _read_hub(key, name, split, revision)
    if not files:
        raise UserError(
            f"recipe.{key}={name}: there is no such file, and no such folder with .parquet or .jsonl files (looked in "
            f"{Path.cwd()}).\n  type: recipe.{key}=FILE_OR_FOLDER, or the name of a hub data set, OWNER/NAME"
        )
    return [row for file in files for row in _read_file(file)]


def local_files(name: str, split: str) -> list[Path] | None:
    """Return the files of a local source in order, empty if there are none, or None for the name of a hub data set.

    Of a folder's files those are taken that are named for the split (``train.parquet``, ``train-00000-of-00002.parquet``),
    if there are any, else all.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES)
        named = [file for file in files if re.match(rf"{re.escape(split)}(?![A-Za-z0-9])", file.name)]
        return named or files
    is_hub_name = _HUB_NAME.fullmatch(name) and path.suffix not in _SUFFIXES and not name.startswith(".")
    return None if is_hub_name else []


def digest_of_files(files: list[Path]) -> str:
    """Return the SHA-256 of the files' contents, in order.

    Raises:
        InfrastructureError: one of them can't be read.
    """
    digest = hashlib.sha256()
    for file in files:
        try:
            with file.open("rb") as handle:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
        except OSError as error:
            raise InfrastructureError(f"cannot read {file}: {error.strerror or error}") from error
    return digest.hexdigest()


def _read_file(file: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix not in _SUFFIXES:
        raise UserError(f"{file}: a prompt set is a .parquet or a .jsonl file (or a folder of them)")
    try:
        if file.suffix == ".parquet":
            return pq.read_table(file).to_pylist()
        return _json_rows(file)
    except pa.ArrowInvalid as error:
        raise UserError(f"{file} is no parquet file: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InfrastructureError(f"cannot read {file}: {error}") from error


def _json_rows(file: Path) -> list[dict[str, Any]]:
    rows = []
    with file.open(encoding="utf-8") as handle:
        for number, line in enumerate(handle, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UserError(f"{file}, line {number}: not JSON ({error}); one object a line is expected") from error
            except RecursionError as error:
                raise UserError(f"{file}, line {number}: JSON nested too deeply; one flat object a line is expected") from error
            if not isinstance(row, dict):
                raise UserError(f"{file}, line {number}: one JSON object a line is expected")
            rows.append(row)
    return rows


def _read_hub(key: str, name: str, split: str, revision: str | None) -> list[dict[str, Any]]:
    import datasets
    from datasets.exceptions import DatasetNotFoundError, DatasetsError

    at = f"recipe.{key}={name}"
    local = f"type: recipe.{key}=FOLDER with its .parquet files, if this machine can't reach the hub"
    before = key.removesuffix("source")
    try:
        return datasets.load_dataset(name, split=split, revision=revision).to_list()
    except DatasetNotFoundError as error:
        raise UserError(f"{at}: the hub has no such data set, or it is not open to you ({_first(error)}).\n  {local}") from error
    except (OSError, DatasetsError) as error:
        raise InfrastructureError(f"{at}: the data set could not be downloaded ({_first(error)}).\n  {local}") from error
    except ValueError as error:  # how the library says that there is no such split
        splits = re.findall(r"'([\w.\-]+)'", str(error))
        close = nearest(split, splits) or ["train"]
        raise UserError(
            f"{at}: its split {split!r} could not be read ({_first(error)}).\n  type: recipe.{before}split={close[0]}"
        ) from error


def _first(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
