"""Check against tactic blocks with next to nothing in them."""

from typing import ClassVar

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class TacticBlockTooShort(Check):
    """A closed tactic block has too little code: ``min over blocks of code lines < min_lines``.

    A code line is one that is neither blank nor comment. Kimina-Prover-RL's publication describes this check; its
    released code declares the number and does not read it.
    """

    name: ClassVar[str] = "tactic_block_too_short"
    min_lines: int = Field(default=3, ge=0)

    def measure(self, sample: Sample) -> Measurement | None:
        if not sample.has_think_block or not sample.response.closed_tactic_count:
            return None
        shortest = sample.tactics.fewest_lines
        return measurement(shortest < self.min_lines, shortest, self.min_lines)
