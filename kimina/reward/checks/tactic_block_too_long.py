"""Check against a tactic block that is the whole proof."""

from functools import lru_cache
from typing import ClassVar

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.lines import stripped_line_count
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
        if not sample.has_think_block or not sample.response.closed_tactic_count or sample.answer is None:
            return None
        longest = sample.tactics.longest
        lean_lines = stripped_line_count(sample.answer.text, sample.answer.line_count)
        limit = max(self.floor, _rounded_share(self.ratio, lean_lines))
        return measurement(longest > limit, longest, limit)


@lru_cache(maxsize=4096)
def _rounded_share(ratio: float, lines: int) -> float:
    # Rounded, so that 0.95 x 20 lines is 19 whatever the binary fraction says; which takes longer than all the rest.
    return round(ratio * lines, 6)
