"""Check that the output has a Lean block."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class NoLeanBlock(Check):
    """There is no closed Lean block behind the think block: ``blocks < 1``.

    Kimina-Prover-RL, released format reward, check 1.
    """

    name: ClassVar[str] = "no_lean_block"

    def measure(self, sample: Sample) -> Measurement:
        count = sample.response.lean_count
        return measurement(count < 1, count, 1)
