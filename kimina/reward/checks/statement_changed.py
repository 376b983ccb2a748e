"""Check that the proof answers the statement that was asked."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class StatementChanged(Check):
    """The Lean block does not declare the statement's theorem with the statement's tokens.

    The comparison is ``kimina.lean.statement.statement_matches``. Kimina-Prover-RL, released format reward, check 9,
    which compares text and so refuses helper lemmas and accepts statements in comments.
    """

    name: ClassVar[str] = "statement_changed"

    def measure(self, sample: Sample) -> Measurement | None:
        if sample.answer is None:
            return None
        match = sample.statement_match
        return measurement(not match, int(bool(match)), 1, match.reason or None)
