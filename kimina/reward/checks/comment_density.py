"""Check against comments in place of code."""

from typing import ClassVar

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement
from kimina.reward.sample import Sample


class CommentDensity(Check):
    """Comments fill too much of a block: ``max over blocks of comment characters / characters > max``.

    Blocks are the closed tactic blocks and the Lean block. Comments count with their delimiters, without the line
    break that ends a line comment, and without comments copied from the statement; characters are all between the
    fences. An empty block has density 0. Kimina-Prover-RL's publication describes this check; its released code sets
    the thresholds and does not read them.
    """

    name: ClassVar[str] = "comment_density"
    max: float = Field(default=0.2, ge=0, le=1)

    def measure(self, sample: Sample) -> Measurement | None:
        blocks = list(sample.response.closed_tactic_blocks) if sample.has_think_block else []
        if sample.answer is not None:
            blocks.append(sample.answer)
        if not blocks:
            return None
        densest = max([sample.comment_characters(block) / (len(block.text) or 1) for block in blocks])
        return Measurement(densest > self.max, densest, self.max)
