"""Records of samples on disk: an append-only folder of Parquet files, ``samples/part-NNNNN.parquet``.

Each part appears whole or not at all, and nothing is ever changed: a sample that is recorded again (after a kill, or
because it could not be verified at first) stands in a later part, and that one counts. The files are read with DuckDB
here, and by hand too::

    duckdb -c "SELECT verdict, count(*) FROM 'outputs/eval/NAME/samples/*.parquet' GROUP BY 1"

Parquet's texts are UTF-8, and a model's output need not be: half a surrogate pair is written as U+10FFFF and six
hexadecimal digits, and so is U+10FFFF itself. Every other text stands there as it is.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kimina.durable import write_bytes
from kimina.errors import InfrastructureError
from kimina.evaluation.records import LeanMessage, Outcome

SAMPLES = "samples"
_ESCAPE = "\U0010ffff"
_ODD = re.compile(f"[\ud800-\udfff{_ESCAPE}]")
_ESCAPED = re.compile(f"{_ESCAPE}([0-9a-f]{{6}})")
_PART = re.compile(r"part-(\d{5,})\.parquet")
#: Columns in the order of an outcome's fields.
_COLUMNS = (
    "problem_id", "family", "level", "sample", "verdict", "violations", "reward", "response_tokens", "finished", "response",
    "turn", "messages", "generation_s", "lean_s", "canary", "feedback", "no_fix",
)  # fmt: skip
_VIOLATIONS, _MESSAGES = _COLUMNS.index("violations"), _COLUMNS.index("messages")


def samples_folder(folder: str | os.PathLike[str]) -> Path:
    """Return where the records of an evaluation's folder lie; the folder of the records itself is taken too."""
    folder = Path(folder)
    return folder if folder.name == SAMPLES else folder / SAMPLES


def how_to_complete(folder: str | os.PathLike[str]) -> str:
    """Return what makes lost samples again, for the end of a sentence: a finished evaluation is only reused otherwise."""
    return (
        f"remove {Path(folder) / 'manifest.json'}, which says that the evaluation is finished, and run its command again: it "
        "makes the samples that are missing"
    )


def append_outcomes(folder: str | os.PathLike[str], outcomes: Sequence[Outcome]) -> Path | None:
    """Write ``outcomes`` as the next part; returns the file, or None where there is nothing to write.

    One process at a time may write in a folder.

    Raises:
        InfrastructureError: the part could not be written; the earlier ones are as they were.
    """
    if not outcomes:
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number, real = pa.string(), pa.int64(), pa.float64()
    message = pa.struct({"severity": text, "line": number, "column": number, "text": text})
    types = {
        "level": number, "sample": number, "violations": pa.list_(text), "reward": real, "response_tokens": number,
        "finished": pa.bool_(), "turn": number, "messages": pa.list_(message), "generation_s": real, "lean_s": real,
        "canary": pa.bool_(),
    }  # fmt: skip
    schema = pa.schema({name: types.get(name, text) for name in _COLUMNS})
    content = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema), content, compression="zstd")
    folder = samples_folder(folder)
    parts = _parts(folder)
    number_of_next = _number(parts[-1]) + 1 if parts else 0
    return write_bytes(folder / f"part-{number_of_next:05d}.parquet", content.getvalue().to_pybytes())


def read_outcomes(
    folder: str | os.PathLike[str], *, texts: bool = True, problems: Sequence[str] | None = None
) -> list[Outcome]:
    """Return all records in the order in which they were written; an empty list for an empty folder.

    Args:
        folder: an evaluation's folder, or the folder ``samples`` in it.
        texts: without them responses, feedback and Lean's messages are empty, and reading is several times faster.
        problems: only the records of these problem ids; None: all.

    Raises:
        InfrastructureError: the folder is missing, or a part is damaged or of another kind; it is named.
    """
    folder = samples_folder(folder)
    if not folder.is_dir():
        raise InfrastructureError(f"{folder} does not exist: the evaluation that writes it has not run")
    parts = _parts(folder)
    if not parts:
        return []
    # Whether there is a feedback counts, even where its text does not.
    empty = {} if texts else {"response": "''", "messages": "[]", "feedback": "left(feedback, 0)"}
    return [_outcome(row) for row in _rows(parts, [empty.get(name, name) for name in _COLUMNS], problems)]


def sample_rows(folder: str | os.PathLike[str], query: str) -> list[tuple[Any, ...]]:
    """Run an SQL query of DuckDB on the records of ``folder``, which are the table ``samples`` in it.

    Of a sample that was recorded several times the table has the last record alone. Texts stand there in the encoding of
    the module's text.

    Raises:
        InfrastructureError: as `read_outcomes`; also where the folder has no record, and so no table.
        duckdb.Error: the query is wrong.
    """
    folder = samples_folder(folder)
    if not folder.is_dir() or not (parts := _parts(folder)):
        raise InfrastructureError(f"{folder} has no records: the evaluation that writes them has not run")
    import duckdb

    names = ", ".join(_quoted(str(part)) for part in parts)
    with duckdb.connect() as connection:
        try:
            # Numbers of parts may differ in width, so their order is not that of their names.
            connection.execute(
                f"CREATE VIEW samples AS SELECT {', '.join(_COLUMNS)} FROM read_parquet([{names}], filename=true, "
                "file_row_number=true) QUALIFY row_number() OVER (PARTITION BY problem_id, canary, sample, turn ORDER BY "
                r"CAST(regexp_extract(filename, 'part-(\d+)\.parquet$', 1) AS BIGINT) DESC, file_row_number DESC) = 1"
            )
            return connection.execute(query).fetchall()
        except duckdb.Error:
            # The query may be wrong, or a part damaged.
            if (damage := _damage(parts, _COLUMNS)) is not None:
                raise damage from None
            raise


def read_prompt_set(path: str | os.PathLike[str]) -> list[tuple[str, str, int]]:
    """Return (problem id, family, level) of each problem of a prompt set in verl's schema (``kimina.data.prompts``).

    Raises:
        InfrastructureError: the file is damaged or of another kind.
    """
    import duckdb

    query = "SELECT extra_info.problem_id, extra_info.family, extra_info.level FROM read_parquet(?)"
    try:
        with duckdb.connect() as connection:
            return connection.execute(query, [str(path)]).fetchall()
    except duckdb.Error as error:
        raise InfrastructureError(f"cannot read the prompt set {path}: {_first_line(error)}") from error


def _parts(folder: Path) -> list[Path]:
    """The parts in the order in which they were written."""
    found = []
    for path in folder.glob("*"):
        if path.name.startswith("."):
            continue  # what a killed writer left
        if not _PART.fullmatch(path.name):
            raise InfrastructureError(
                f"{path} is no part of an evaluation's records (part-NNNNN.parquet); move it to another folder"
            )
        found.append(path)
    return sorted(found, key=_number)


def _number(part: Path) -> int:
    match = _PART.fullmatch(part.name)
    assert match is not None
    return int(match[1])


def _rows(parts: Sequence[Path], columns: Sequence[str], problems: Sequence[str] | None) -> list[tuple[Any, ...]]:
    import duckdb

    query, values = f"SELECT {', '.join(columns)} FROM read_parquet(?)", [[str(part) for part in parts]]
    if problems is not None:
        query += " WHERE list_contains(?, problem_id)"
        values.append([_encoded(problem) for problem in problems])
    with duckdb.connect() as connection:
        try:
            return connection.execute(query, values).fetchall()
        except duckdb.Error as error:
            raise _damage(parts, columns) or InfrastructureError(
                f"cannot read the records in {parts[0].parent}: {_first_line(error)}"
            ) from error


def _damage(parts: Sequence[Path], columns: Sequence[str]) -> InfrastructureError | None:
    """Name the part that can't be read, if there is one: of many files DuckDB's own message names one by chance."""
    import duckdb

    with duckdb.connect() as connection:
        for part in parts:
            try:
                connection.execute(f"SELECT {', '.join(columns)} FROM read_parquet(?)", [str(part)]).fetchall()
            except duckdb.Error as error:
                return InfrastructureError(
                    f"{part} is damaged or no part of an evaluation's records: {_first_line(error)}. "
                    f"Put a whole copy in its place, or remove it and {how_to_complete(part.parent.parent)}."
                )
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _row(outcome: Outcome) -> dict[str, Any]:
    row = {name: getattr(outcome, name) for name in _COLUMNS}
    row["messages"] = [message._asdict() for message in outcome.messages]
    return _recoded(row, _encoded)


def _outcome(row: tuple[Any, ...]) -> Outcome:
    """The outcome of a row of `_COLUMNS`. Tables read hundreds of thousands of rows, and few have an odd text."""
    values = [_decoded(value) if value.__class__ is str and _ESCAPE in value else value for value in row]
    values[_VIOLATIONS] = tuple(_recoded(values[_VIOLATIONS], _decoded)) if values[_VIOLATIONS] else ()
    values[_MESSAGES] = tuple(LeanMessage(**_recoded(m, _decoded)) for m in values[_MESSAGES]) if values[_MESSAGES] else ()
    return Outcome(*values)


def _recoded(value: Any, recode: Any) -> Any:
    if isinstance(value, str):
        return recode(value)
    if isinstance(value, Mapping):
        return {key: _recoded(item, recode) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [_recoded(item, recode) for item in value]
    return value


def _encoded(text: str) -> str:
    return text if text.isascii() else _ODD.sub(lambda match: f"{_ESCAPE}{ord(match[0]):06x}", text)


def _decoded(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
