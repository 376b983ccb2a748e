"""Check that nothing follows the Lean block."""

from typing import ClassVar

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class TextAfterLeanBlock(Check):
    """Anything but white space stands behind the only Lean block: ``characters > 0``.

    Kimina-Prover-RL, released format reward, check 1.
    """

    name: ClassVar[str] = "text_after_lean_block"

    def measure(self, sample: Sample) -> Measurement | None:
        response = sample.response
        if response.lean_count != 1:
            return None
        *_, behind = response.lean_edges
        count = len(response.text[behind:].strip())
        return measurement(count > 0, count, 0)
