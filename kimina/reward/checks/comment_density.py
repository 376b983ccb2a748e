"""Check against comments in place of code."""

from typing import ClassVar

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement, measurement
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
        shares = []
        if sample.has_think_block and sample.response.closed_tactic_count:
            shares.append(sample.tactics.densest)
        if sample.answer is not None:
            shares.append(sample.answer_comment_share())
        if not shares:
            return None
        densest = max(shares)
        return measurement(densest > self.max, densest, self.max)
