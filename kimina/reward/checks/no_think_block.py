"""Check that the output opens a think block."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class NoThinkBlock(Check):
    """There is no opening think tag: ``opening tags < 1``. The prompt's own tag counts.

    Kimina-Prover-RL, released format reward, checks 2 and 3.
    """

    name: ClassVar[str] = "no_think_block"

    def measure(self, sample: Sample) -> Measurement:
        count = sample.response.opening_tags
        return measurement(count < 1, count, 1)
