"""No length control."""

from typing import ClassVar

from kimina.reward.length.base import Budgets, LengthControl, check_step


class NoLength(LengthControl):
    """``length=none``: nothing is added, no budget is written, nothing is cut."""

    name: ClassVar[str] = "none"

    def active(self, step: int) -> bool:
        check_step(step)
        return False

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        return [0.0] * len(lengths)
