"""Check that the output has no second Lean block."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class LeanBlockCount(Check):
    """There is more than one Lean block behind the think block: ``blocks > 1``.

    Kimina-Prover-RL, released format reward, check 4.
    """

    name: ClassVar[str] = "lean_block_count"

    def measure(self, sample: Sample) -> Measurement | None:
        count = sample.response.lean_count
        return measurement(count > 1, count, 1) if count else None
