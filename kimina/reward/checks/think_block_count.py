"""Check that the output has one think block."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class ThinkBlockCount(Check):
    """There is an opening tag, but not exactly one block that is properly closed.

    Kimina-Prover-RL, released format reward, check 3.
    """

    name: ClassVar[str] = "think_block_count"

    def measure(self, sample: Sample) -> Measurement | None:
        count = sample.response.opening_tags
        if count < 1:
            return None
        return measurement(not sample.has_think_block, count, 1, None if sample.has_think_block else "not one block")
