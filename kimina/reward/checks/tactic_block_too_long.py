"""Check against a tactic block that is the whole proof."""

from typing import ClassVar

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement
from kimina.reward.sample import Sample


class TacticBlockTooLong(Check):
    """A closed tactic block is nearly the whole proof: ``max over blocks of lines > max(floor, ratio x Lean lines)``.

    All lines count, blank ones and comments too; the Lean block is stripped first. Kimina-Prover-RL, released format
    reward, check 7.
    """

    name: ClassVar[str] = "tactic_block_too_long"
    ratio: float = Field(default=0.95, ge=0)
    floor: int = Field(default=5, ge=0)

    def measure(self, sample: Sample) -> Measurement | None:
        blocks = sample.response.closed_tactic_blocks
        if not sample.has_think_block or not blocks or sample.answer is None:
            return None
        longest = max([block.line_count for block in blocks])
        lean_lines = sample.answer.text.strip().count("\n") + 1
        # Rounded, so that 0.95 x 20 lines is 19 whatever the binary fraction says.
        limit = max(self.floor, round(self.ratio * lean_lines, 6))
        return Measurement(longest > limit, longest, limit)
