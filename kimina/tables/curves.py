"""The curves of a training run, taken out of the rows that the trainer writes to ``metrics.jsonl``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Curve = list[tuple[int, float]]


@dataclass(frozen=True)
class TrainingCurves:
    """Points (step, value): mean reward, share of proved samples, mean tokens, and share of samples for each violation.

    ``validation`` are points (rollouts so far, share of proved samples of the development theorems).
    """

    reward: Curve
    proof_rate: Curve
    response_length: Curve
    violations: dict[str, Curve]
    validation: Curve = field(default_factory=list)

    @property
    def steps(self) -> int:
        """The last step of any curve, 0 for none."""
        curves = [self.reward, self.proof_rate, self.response_length, *self.violations.values()]
        return max((curve[-1][0] for curve in curves if curve), default=0)


VALIDATED = "kimina/val/turn_1/proof_rate"


def training_curves(rows: Iterable[Mapping[str, Any]], validated: Iterable[Mapping[str, Any]] = ()) -> TrainingCurves:
    """Collect the curves; values that are null leave a gap.

    Args:
        rows: each with ``step``, and of ``reward``, ``proof_rate``, ``response_tokens``, ``samples`` (how many) and
            ``violations`` (samples by code; a code that a step doesn't name did not occur in it) what there is.
        validated: rows of ``validation.jsonl``, in any order.
    """
    rows = sorted((row for row in rows if "step" in row), key=lambda row: row["step"])
    counted = [row for row in rows if row.get("violations") is not None and row.get("samples")]
    codes = sorted({code for row in counted for code in row["violations"]})
    shares = {
        code: [(row["step"], row["violations"].get(code, 0) / row["samples"]) for row in counted] for code in codes
    }
    return TrainingCurves(
        reward=_curve(rows, "reward"),
        proof_rate=_curve(rows, "proof_rate"),
        response_length=_curve(rows, "response_tokens"),
        violations={code: curve for code, curve in shares.items() if any(value > 0 for _, value in curve)},
        validation=_validation(rows, validated),
    )


def smoothed(curve: Curve, window: int = 5) -> Curve:
    """Return the centred moving average over ``window`` points, shorter at the ends."""
    half = window // 2
    result = []
    for index, (step, _) in enumerate(curve):
        near = [value for _, value in curve[max(0, index - half) : index + half + 1]]
        result.append((step, sum(near) / len(near)))
    return result


def _validation(rows: list[Mapping[str, Any]], validated: Iterable[Mapping[str, Any]]) -> Curve:
    drawn = {0: 0}
    for row in rows:
        drawn[row["step"]] = max(drawn.values()) + row.get("samples", 0)
    found = ((row["step"], row.get(VALIDATED)) for row in validated)
    return sorted((drawn[step], float(value)) for step, value in found if value is not None and step in drawn)


def _curve(rows: list[Mapping[str, Any]], name: str) -> Curve:
    return [(row["step"], float(row[name])) for row in rows if row.get(name) is not None]
