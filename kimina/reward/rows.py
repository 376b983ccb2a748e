"""Rows of outputs to score: what is read, what is written, and how several turns become one result.

A row has ``id``, ``statement`` and ``response``, or instead of the response ``messages`` (a chat; every assistant turn is
checked, the last one is what Lean judges), or instead of both a field with bare Lean code. ``prompt_opens_think`` says
for this row whether the prompt had already opened the think block.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kimina.errors import UserError
from kimina.lean.statement import Statement
from kimina.lean.verdict import Verdict
from kimina.reward.checks import CHECKS
from kimina.reward.scorer import FormatReport, Scorer, reward_value

BAD_ROW = "bad_row"
"""The ``error`` of a row that could not be read."""


class BadRowError(Exception):
    """A row that cannot be scored; ``row_id`` is its id if that much could be read."""

    def __init__(self, message: str, row_id: Any = None) -> None:
        super().__init__(message)
        self.row_id = row_id


@dataclass(frozen=True)
class Row:
    """An output to score. ``turns`` are the model's own, oldest first; with ``is_proof`` the one turn is Lean code."""

    id: Any
    statement: Statement
    turns: tuple[str, ...]
    opens_think: bool
    is_proof: bool = False


@dataclass(frozen=True)
class RowReport:
    """The format reports of all turns as one: violations of any turn, in the fixed order; the last turn's code."""

    turns: tuple[FormatReport, ...]

    @property
    def last(self) -> FormatReport:
        """The report of the turn that Lean judges."""
        return self.turns[-1]

    @property
    def violations(self) -> tuple[str, ...]:
        """The codes that any turn violates."""
        found = {code for turn in self.turns for code in turn.violations}
        return tuple(code for code in CHECKS if code in found)

    def needs_lean(self, verify_rejected: bool) -> bool:
        """Whether Lean decides the reward, or is asked all the same."""
        return self.last.lean_code is not None and (verify_rejected or not self.violations)


def read_object(line: bytes) -> tuple[Any, dict[str, Any]]:
    """Return the id and the fields of one line.

    Raises:
        BadRowError: the line is no JSON object, or has no id.
    """
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadRowError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise BadRowError("JSON nested too deeply") from None
    except ValueError as error:
        raise BadRowError(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise BadRowError(f"not a JSON object but {'null' if row is None else _kind(row)}")
    row_id = row.get("id")
    if row_id is None or isinstance(row_id, (dict, list)):
        raise BadRowError(f"'id' is {_kind(row_id)}; a text or a number is needed")
    return row_id, row


def text_field(row: Mapping[str, Any], field: str) -> str:
    """Return the text in a field. Raises `BadRowError` where there is none."""
    if field not in row:
        raise BadRowError(f"no field '{field}'; it has {', '.join(sorted(map(repr, row)))[:200]}")
    if not isinstance(row[field], str):
        raise BadRowError(f"'{field}' is {_kind(row[field])}; a text is needed")
    return row[field]


def read_row(line: bytes, opens_think: bool = False, proof_field: str | None = None) -> Row:
    """Read one line. ``opens_think`` holds for rows that don't say; ``proof_field`` names the field with bare Lean code.

    Raises:
        BadRowError: the line is no JSON object, or a field is missing or of a wrong type.
    """
    row_id, row = read_object(line)
    try:
        return Row(
            row_id,
            Statement.parse(text_field(row, "statement")),
            (text_field(row, proof_field),) if proof_field else _turns(row),
            _opens_think(row, opens_think),
            is_proof=proof_field is not None,
        )
    except UserError as error:
        raise BadRowError(f"'statement': {error}", row_id) from None
    except BadRowError as error:
        raise BadRowError(str(error), row_id) from None


def check_row(scorer: Scorer, row: Row) -> RowReport:
    """Check the format of every turn, or the bare proof."""
    if row.is_proof:
        return RowReport((scorer.check_proof(row.statement, row.turns[0]),))
    return RowReport(tuple(scorer.check_format(row.statement, turn, opens_think=row.opens_think) for turn in row.turns))


def result_row(row: Row, report: RowReport, verdict: Verdict | None, *, open_question: bool) -> dict[str, Any]:
    """Return the output row.

    ``verdict`` is None where Lean was not asked. With ``open_question`` it should have been (there is no verifier):
    such a row has no reward, like one that nobody could judge.
    """
    violations = report.violations
    reward = None if open_question else reward_value(verdict, violations, report.last.length_penalty)
    result: dict[str, Any] = {
        "id": row.id,
        "reward": reward,
        "violations": list(violations),
        "error": violations[0] if violations else None,
        "verdict": None if verdict is None else verdict.value,
        "lean_source": report.last.lean_code,
        "measures": report.last.measures,
    }
    if len(report.turns) > 1:
        result["turns"] = [{"violations": list(turn.violations), "measures": turn.measures} for turn in report.turns]
    return result


def error_row(error: BadRowError, number: int) -> dict[str, Any]:
    """Return the output row for the input's line ``number`` (from 1), which could not be read."""
    return {
        "id": error.row_id,
        "reward": None,
        "violations": [],
        "error": BAD_ROW,
        "verdict": None,
        "lean_source": None,
        "measures": {},
        "message": f"line {number}: {error}",
    }


def _turns(row: Mapping[str, Any]) -> tuple[str, ...]:
    if row.get("messages") is None:
        return (text_field(row, "response"),)
    if row.get("response") is not None:
        raise BadRowError("both 'response' and 'messages'; one is needed")
    messages = row["messages"]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise BadRowError("'messages' is not a list of objects with 'role' and 'content'")
    turns = tuple(text_field(message, "content") for message in messages if message.get("role") == "assistant")
    if not turns:
        raise BadRowError("'messages' has no turn of the assistant")
    return turns


def _opens_think(row: Mapping[str, Any], default: bool) -> bool:
    value = row.get("prompt_opens_think")
    if value is not None and not isinstance(value, bool):
        raise BadRowError(f"'prompt_opens_think' is {_kind(value)}; true or false is needed")
    return default if value is None else value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return "missing or null" if value is None else names[type(value)]
