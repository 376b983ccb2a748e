"""Check that tactic fences are closed."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement
from kimina.reward.sample import Sample


class TacticBlockUnclosed(Check):
    """A tactic fence is never closed: ``unclosed > 0``.

    Kimina-Prover-RL, released format reward, check 8.
    """

    name: ClassVar[str] = "tactic_block_unclosed"

    def measure(self, sample: Sample) -> Measurement | None:
        if not sample.has_think_block:
            return None
        count = len(sample.response.tactic_blocks) - len(sample.response.closed_tactic_blocks)
        return Measurement(count > 0, count, 0)
