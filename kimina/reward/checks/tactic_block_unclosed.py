"""Check that tactic fences are closed."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class TacticBlockUnclosed(Check):
    """A tactic fence is never closed: ``unclosed > 0``.

    Kimina-Prover-RL, released format reward, check 8.
    """

    name: ClassVar[str] = "tactic_block_unclosed"

    def measure(self, sample: Sample) -> Measurement | None:
        if not sample.has_think_block:
            return None
        count = sample.response.tactic_count - sample.response.closed_tactic_count
        return measurement(count > 0, count, 0)
