"""The data stage of a published prompt set: rows of a data set become verl's rows, and nothing disappears unnoticed.

The training rows keep their multiplicity (the Kimina-Prover-RL prompt set repeats hard problems to give them weight),
the informal statement is used verbatim, comment markers included (kimina-prover-rl, data preparation). Rows without a
theorem can't be asked; they are left out, counted and named.
"""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kimina.data.prompts import prompt_row, write_rows
from kimina.data.sources import read_source
from kimina.errors import UserError, nearest
from kimina.lean.statement import Statement

SPLITS = ("train", "dev", "test")
NAMED = 100
"""Refused rows that the summary names; all are counted."""

_BRACKETS_AND_COLON = frozenset("([{⦃:")


@dataclass(frozen=True)
class Entry:
    """One usable row. ``key`` is equal for statements that differ in names, comments and white space alone."""

    problem_id: str
    name: str
    statement: str
    informal: str
    key: tuple


def prepare_promptset(recipe: Mapping[str, Any], folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Write ``train.parquet``, ``dev.parquet`` and ``test.parquet`` into ``folder`` and return a summary.

    ``recipe`` is the composed node: ``source`` and ``test_source`` (see :func:`kimina.data.sources.read_source`),
    ``columns`` (for ``name``, ``informal`` and ``statement`` each the column names to look for, the first that exists
    is used; an empty list for what the data lacks), ``limit`` (use only the first rows, for a dry run), ``seed`` and
    the expected counts.

    With ``dev_count`` above 0, so many distinct statements are drawn with ``seed``, and all their rows leave the
    training rows; ``dev.parquet`` has one row for each. With ``dev_count`` 0, ``dev.parquet`` holds the test rows: the
    published recipe validates on miniF2F-test, and a score on the test set is not held out then.

    ``say`` is told in a sentence what a reader should know: refused rows, other counts than stated, and
    statements that occur both in the training and in the test rows (they are kept and counted).

    Raises:
        UserError: no such data, no fitting column, no row with a theorem, or ``dev_count`` leaves nothing to train on.
        InfrastructureError: the data can't be read, or the files can't be written.
    """
    taken: set[str] = set()
    # The test set first: its problems keep their plain names in every table.
    test = _read("test_source", recipe, taken, say)
    train = _read("source", recipe, taken, say)
    test_keys = {entry.key for entry in test.entries}
    shared = {entry.key for entry in train.entries} & test_keys
    if shared:
        say(f"data: {len(shared)} statements of {recipe['test_source']} occur among the training statements; they are kept")
    kept, dev, left_out = _hold_out(train.entries, recipe)
    rows = {"train": _rows(kept, "train", recipe["source"]), "test": _rows(test.entries, "test", recipe["test_source"])}
    rows["dev"] = _rows(dev, "dev", recipe["source"]) if recipe["dev_count"] else rows["test"]
    digest = hashlib.sha256()
    summary: dict[str, Any] = {"splits": {}}
    for split in SPLITS:
        write_rows(rows[split], folder / f"{split}.parquet")
        digest.update(json.dumps(rows[split], sort_keys=True).encode())
        statements = len({row["extra_info"]["statement"] for row in rows[split]})
        summary["splits"][split] = {"rows": len(rows[split]), "statements": statements}
    summary["dev"] = {"rows_left_out": left_out} if recipe["dev_count"] else {"same_as": "test"}
    for split, of in (("train", train), ("test", test)):
        summary[split] = {"read": of.read, "columns": of.columns, "refused": of.refused, "without_informal": of.bare}
    summary["statements_in_train_and_test"] = len(shared)
    summary["fingerprint"] = digest.hexdigest()
    return summary


@dataclass(frozen=True)
class _Part:
    """The rows of one source: what was read, what is usable, and what is not and why."""

    read: int
    columns: dict[str, str | None]
    entries: list[Entry]
    refused: dict[str, Any]
    bare: int


def _read(key: str, recipe: Mapping[str, Any], taken: set[str], say: Callable[[str], None]) -> _Part:
    rows = read_source(key, recipe)
    source = recipe[key]
    stated = recipe["test_count" if key == "test_source" else "train_count"]
    if len(rows) != stated and not recipe["limit"]:
        say(f"data: {source} has {len(rows)} rows; the recipe states {stated}")
    if recipe["limit"]:
        rows = rows[: recipe["limit"]]
    columns = _columns(rows, source, recipe["columns"])
    entries: list[Entry] = []
    refused: list[str] = []
    bare = 0
    for index, row in enumerate(rows):
        label = row.get(columns["name"]) if columns["name"] else None
        statement = row.get(columns["statement"])
        theorem, key_or_reason = _theorem(statement)
        if theorem is None:
            refused.append(f"row {index}{f' ({label})' if label is not None else ''}: {key_or_reason}")
            continue
        informal = row.get(columns["informal"]) if columns["informal"] else None
        bare += not informal
        problem_id = _unique(str(label) if label is not None else theorem, taken)
        entries.append(Entry(problem_id, theorem, statement, "" if informal is None else str(informal), key_or_reason))
    if refused:
        say(f"data: {len(refused)} of {len(rows)} rows of {source} have no theorem to ask and are left out, the first: {refused[0]}")
    if not entries:
        raise UserError(
            f"{source}: no row has a theorem in its column {columns['statement']!r} ({len(rows)} rows read).\n"
            f"  type: recipe.columns.statement=[COLUMN], one of {', '.join(_names(rows))}"
        )
    return _Part(len(rows), columns, entries, {"count": len(refused), "rows": refused[:NAMED]}, bare)


def _columns(rows: Sequence[Mapping[str, Any]], source: str, candidates: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Choose a column for each part; an empty list of candidates says that there is none."""
    if not rows:
        raise UserError(f"{source} has no rows")
    exist = _names(rows)
    chosen: dict[str, str | None] = {}
    for part in ("name", "informal", "statement"):
        wanted = list(candidates[part])
        chosen[part] = next((column for column in wanted if column in exist), None)
        if chosen[part] is None and (wanted or part == "statement"):
            close = [column for want in wanted for column in nearest(want, exist, 1)] or exist
            optional = "" if part == "statement" else f", or recipe.columns.{part}=[] if there is none"
            raise UserError(
                f"{source}: none of the columns {', '.join(wanted) or '(none given)'} for recipe.columns.{part} exists.\n"
                f"  it has: {', '.join(exist)}\n  type: recipe.columns.{part}=[{close[0]}]{optional}"
            )
    return chosen


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _theorem(statement: object) -> tuple[str, tuple] | tuple[None, str]:
    """Return the theorem's full name and its key, or None and why there is none."""
    if not isinstance(statement, str) or not statement.strip():
        return None, "the statement is empty"
    return _parsed(statement)


@lru_cache(maxsize=100_000)
def _parsed(statement: str) -> tuple[str, tuple] | tuple[None, str]:
    try:
        parsed = Statement.parse(statement)
    except UserError as error:
        return None, str(error)
    start = next((i for i, token in enumerate(parsed.declaration) if token in _BRACKETS_AND_COLON), 0)
    definitions = tuple(definition.tokens for definition in parsed.definitions)
    return parsed.name, (definitions, tuple(parsed.context.hypotheses), parsed.declaration[start:])


def _unique(wanted: str, taken: set[str]) -> str:
    """Return ``wanted``, or ``wanted#2``, ``wanted#3``, … if it is taken, and take it."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}#{count}"
    taken.add(name)
    return name


def _hold_out(entries: list[Entry], recipe: Mapping[str, Any]) -> tuple[list[Entry], list[Entry], int]:
    """Return the training rows, the development rows, and how many rows repeat a development statement."""
    count = recipe["dev_count"]
    by_key: dict[tuple, Entry] = {}
    for entry in entries:
        by_key.setdefault(entry.key, entry)
    if count >= len(by_key):
        raise UserError(
            f"recipe.dev_count={count}: {recipe['source']} has {len(by_key)} distinct statements, nothing would be left to "
            f"train on.\n  type: recipe.dev_count={len(by_key) // 10}"
        )
    held = set(random.Random(f"promptset-dev-{recipe['seed']}").sample(list(by_key), count))
    dev = [entry for key, entry in by_key.items() if key in held]
    train = [entry for entry in entries if entry.key not in held]
    return train, dev, len(entries) - len(train) - len(dev)


def _rows(entries: Sequence[Entry], split: str, source: str) -> list[dict[str, Any]]:
    return [
        prompt_row(
            source=source,
            split=split,
            index=index,
            problem_id=entry.problem_id,
            name=entry.name,
            statement=entry.statement,
            informal=entry.informal,
        )
        for index, entry in enumerate(entries)
    ]
