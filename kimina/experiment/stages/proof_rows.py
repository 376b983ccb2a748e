"""Rows of bare proofs: what stage=verify reads and writes.

A row has ``id`` and a field with the whole Lean text. Which theorem must be proved is said by ``theorem``, or by
``statement``, from which the theorem's name is taken and nothing else: Lean alone is asked, and not whether the proof
answers that statement (stage=score does that). Without either it is the last theorem that the text declares.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kimina.errors import UserError
from kimina.lean.source import LeanSource
from kimina.lean.statement import Statement
from kimina.lean.tokenizer import TokenKind, iter_tokens, name_parts, significant
from kimina.lean.verdict import CheckResult
from kimina.lean.words import THEOREMS
from kimina.reward.rows import BAD_ROW, BadRowError, read_object, text_field

_WIDTH = 200  # characters of a row's contents that an error message shows


@dataclass(frozen=True)
class ProofRow:
    """A proof to check: ``code`` is the whole Lean text, ``theorem`` the full name of the theorem that it must prove."""

    id: Any
    code: str
    theorem: str


def read_proof_row(line: bytes, code_field: str) -> ProofRow:
    """Read one line.

    Raises:
        BadRowError: the line is no JSON object, a field is missing or of a wrong type, or no theorem is named or declared.
    """
    row_id, row = read_object(line)
    try:
        code = text_field(row, code_field)
        return ProofRow(row_id, code, _theorem(row, code, code_field))
    except BadRowError as error:
        raise BadRowError(str(error), row_id) from None


def verdict_row(row: ProofRow, result: CheckResult) -> dict[str, Any]:
    """Return the output row."""
    return {
        "id": row.id,
        "verdict": result.verdict.value,
        "theorem": row.theorem,
        "detail": result.detail,
        "axioms": None if result.axioms is None else list(result.axioms),
        "messages": [
            {"severity": message.severity, "line": message.line, "column": message.column, "text": message.text}
            for message in result.messages
        ],
        "seconds": result.seconds,
        "lean_version": result.lean_version,
        "error": None,
    }


def bad_proof_row(error: BadRowError, number: int) -> dict[str, Any]:
    """Return the output row for the input's line ``number`` (from 1), which could not be read."""
    unknown = dict.fromkeys(("verdict", "theorem", "detail", "axioms"))
    message = f"line {number}: {error}"
    return {
        "id": error.row_id, **unknown, "messages": [], "seconds": None, "lean_version": None, "error": BAD_ROW,
        "message": message,
    }  # fmt: skip


def _theorem(row: Mapping[str, Any], code: str, code_field: str) -> str:
    # A null says nothing, like a missing field: tables of mixed rows are written so.
    if row.get("theorem") is not None:
        return _name(text_field(row, "theorem"))
    if row.get("statement") is not None:
        try:
            return Statement.parse(text_field(row, "statement")).name
        except UserError as error:
            raise BadRowError(f"'statement': {error}") from None
    source = LeanSource(code)
    for command in reversed(source.commands):
        if command.word in THEOREMS and command.depth == 0 and (name := source.full_name(command)):
            return name
    raise BadRowError(f"'{code_field}' declares no theorem with a name; a field 'theorem' says which one must be proved")


def _name(text: str) -> str:
    tokens = list(significant(iter_tokens(text)))
    if len(tokens) != 1 or tokens[0].kind is not TokenKind.NAME or tokens[0].text != text.strip():
        raise BadRowError(f"'theorem' is {text[:_WIDTH]!r}; the full name of a theorem is needed")
    return ".".join(name_parts(text.strip().removeprefix("_root_.")))
