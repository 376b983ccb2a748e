"""Check that the final proof is the one that the thinking worked out."""

from typing import ClassVar, Literal

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class TacticsMismatch(Check):
    """The tactic blocks cover too little of the final proof: ``match(T, F) < min``.

    T and F are the sets of distinct stripped lines of all tactic blocks and of the Lean block, comments and blank
    lines out; import and statement lines count. ``method`` chooses the match::

        iof      |T ∩ F| / |F|      share of the final lines that were worked out
        iou      |T ∩ F| / |T ∪ F|  as before, and what was worked out in vain counts against it
        subcode  |T ∩ F| / |T|      share of the worked-out lines that are part of the final code

    A match with an empty denominator is 0. Applies only when there are enough tactic blocks and all are closed.
    Kimina-Prover-RL, released format reward, check 8 (``iof``, 0.7); Kimina-Prover Preview, section 2.3, asks for 0.6.
    """

    name: ClassVar[str] = "tactics_mismatch"
    skipped_after: ClassVar[frozenset[str]] = frozenset({"too_few_tactic_blocks", "tactic_block_unclosed"})
    min: float = Field(default=0.7, ge=0, le=1)
    method: Literal["iof", "iou", "subcode"] = "iof"

    def measure(self, sample: Sample) -> Measurement | None:
        closed = sample.response.closed_tactic_count
        all_closed = closed == sample.response.tactic_count
        if not sample.has_think_block or sample.answer is None or not closed or not all_closed:
            return None
        tactics, final = sample.tactics.lines, sample.answer_lines()
        common = len(tactics & final)
        if self.method == "iof":
            whole = len(final)
        else:
            whole = len(tactics) if self.method == "subcode" else len(tactics) + len(final) - common
        match = common / whole if whole else 0.0
        return measurement(match < self.min, match, self.min, self.method)
