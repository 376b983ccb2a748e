"""Check that the thinking works with tactics."""

from typing import ClassVar

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class TooFewTacticBlocks(Check):
    """There are too few tactic blocks: ``blocks < min``. Empty and unclosed ones count.

    Kimina-Prover-RL, released format reward, check 6.
    """

    name: ClassVar[str] = "too_few_tactic_blocks"
    min: int = Field(default=2, ge=0)

    def measure(self, sample: Sample) -> Measurement | None:
        if not sample.has_think_block:
            return None
        count = sample.response.tactic_count
        return measurement(count < self.min, count, self.min)
