"""The metrics of a run, one row a step, in a file that can be resumed.

A run that was killed goes on from its last checkpoint and so repeats the steps since then. The later row of a step
replaces the earlier one, and the rows come back ordered by step, so that an interrupted run leaves the same curve as one
that was not.
"""

import numbers
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kimina.durable import JsonLines


#: A training run's validations, in its folder; rows as in ``metrics.jsonl``.
VALIDATION_NAME = "validation.jsonl"


class MetricsLog:
    """``metrics.jsonl``: rows with an integer ``step``, one row a step."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lines = JsonLines(path)

    def append(self, row: Mapping[str, Any]) -> None:
        """Append the row of a step and sync it; numbers that are not finite are written as null.

        Raises:
            ValueError: the row has no integer ``step``.
            InfrastructureError: the file cannot be written.
        """
        step = row.get("step")
        if isinstance(step, bool) or not isinstance(step, numbers.Integral):
            raise ValueError(f"a metrics row needs an integer 'step', got {step!r}")
        self._lines.append([row])

    def read(self) -> list[dict[str, Any]]:
        """Return one row a step, ordered by step, the last written one of each."""
        by_step = {row["step"]: row for row in self._lines.read() if "step" in row}
        return [by_step[step] for step in sorted(by_step)]

    def last_step(self) -> int | None:
        """Return the highest step that has a row, or None."""
        rows = self.read()
        return rows[-1]["step"] if rows else None

    def rewind(self, step: int) -> None:
        """Drop the rows after ``step``, for a run that goes on from the checkpoint of that step."""
        rows = self.read()
        kept = [row for row in rows if row["step"] <= step]
        if len(kept) < len(rows):
            self._lines.replace(kept)

    def compact(self) -> None:
        """Rewrite the file with one line a step, as an uninterrupted run would have left it."""
        rows = self.read()
        if rows and rows != self._lines.read():
            self._lines.replace(rows)
