"""Check that nothing follows the Lean block."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement
from kimina.reward.sample import Sample


class TextAfterLeanBlock(Check):
    """Anything but white space stands behind the only Lean block: ``characters > 0``.

    Kimina-Prover-RL, released format reward, check 1.
    """

    name: ClassVar[str] = "text_after_lean_block"

    def measure(self, sample: Sample) -> Measurement | None:
        response = sample.response
        if len(response.lean_blocks) != 1:
            return None
        count = len(response.text[response.lean_blocks[0].outer_end :].strip())
        return Measurement(count > 0, count, 0)
