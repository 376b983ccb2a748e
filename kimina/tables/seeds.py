"""The gain over several seeds, from the ``result.json`` of each run.

python -m kimina.tables.seeds outputs/table/*/result.json
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kimina.durable import read_json
from kimina.errors import KiminaError, UserError
from kimina.evaluation.comparison import verdict
from kimina.evaluation.intervals import Interval, t_interval
from kimina.tables.result_table import RESULT_SCHEMA
from kimina.tables.wording import p_text, points


@dataclass(frozen=True)
class SeedSummary:
    """Gains (in [0, 1]) and p-values of single runs, their mean, and Student's t interval of the mean.

    ``interval`` is None for one run. It covers what changes with the seed; the test theorems are the same in all runs.
    """

    k: int
    gains: tuple[float, ...]
    p_values: tuple[float, ...]
    mean: float
    interval: Interval | None

    def lines(self) -> list[str]:
        """Return one line a run and one for the mean."""
        text = [
            f"run {index}: pass@{self.k} {points(gain)} points, p {p_text(p)}, {verdict(gain, p)}"
            for index, (gain, p) in enumerate(zip(self.gains, self.p_values, strict=True), start=1)
        ]
        span = (
            f"{points(self.interval.low)} to {points(self.interval.high)}" if self.interval else "none for a single run"
        )
        text.append(f"mean of {len(self.gains)}: {points(self.mean)} points, 95 % interval {span}")
        return text


def across_seeds(results: Sequence[Mapping[str, Any]], k: int = 1) -> SeedSummary:
    """Summarise the overall pass@k gain of runs that differ only in their seeds.

    Args:
        results: contents of the ``result.json`` files.

    Raises:
        UserError: there is none, one has another schema, other problems than the first, or no pass@k.
    """
    if not results:
        raise UserError("no results were given: name the result.json of each run")
    gains, p_values = [], []
    for number, result in enumerate(results, start=1):
        if result.get("schema") != RESULT_SCHEMA:
            raise UserError(
                f"result {number} has the schema {result.get('schema')}, expected {RESULT_SCHEMA}: make it again"
            )
        if result["problems"] != results[0]["problems"]:
            raise UserError(
                f"result {number} is of {result['problems']} problems, the first of {results[0]['problems']}"
            )
        cell = result["rows"][0]["pass_at_k"].get(str(k), {"gain": None})
        if cell["gain"] is None:
            raise UserError(f"result {number} holds no pass@{k}; it holds k of {', '.join(map(str, result['ks']))}")
        gains.append(cell["gain"])
        p_values.append(cell["p"])
    return SeedSummary(k, tuple(gains), tuple(p_values), sum(gains) / len(gains), t_interval(gains))


def main(paths: Sequence[str]) -> int:
    """Print the summary of the given files and return the exit code."""
    try:
        print("\n".join(across_seeds([read_json(path) for path in paths]).lines()))
    except KiminaError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
