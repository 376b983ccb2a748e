"""The length reward of "Training Language Models to Reason Efficiently"."""

from math import tanh
from statistics import fmean, pstdev
from typing import ClassVar

from pydantic import Field

from kimina.reward.length.base import Budgets, LengthControl

# Keeps a group whose correct answers are equally long defined; the released code has the same number.
_EPSILON = 1e-7


class Efficient(LengthControl):
    """Correct answers lose by how long they are among the correct ones; Arora and Zanette (arXiv 2502.04463).

    For a response y to prompt x, with sigma the logistic function and mean and standard deviation over the *correct*
    responses to x::

        r = 1{correct} (1 - alpha sigma( (len(y) - mean) / (std + 1e-7) ))

    A wrong answer has r = 0 whatever its length. What is added is ``r - 1{correct}``: minus alpha times sigma for a
    correct answer, 0 for a wrong one. ``std`` is that of the population (divided by the number of correct answers), as
    NumPy computes it by default; the paper does not say which, and this one exists for a single correct answer, too,
    which loses alpha / 2. The paper tries alpha of 0.05, 0.1, 0.2 and 0.4.
    """

    name: ClassVar[str] = "efficient"
    alpha: float = Field(default=0.1, gt=0, lt=1)

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        among = [length for length, right in zip(lengths, correct, strict=True) if right]
        if not among:
            return [0.0] * len(lengths)
        mean, spread = fmean(among), pstdev(among) + _EPSILON
        return [
            -self.alpha * _logistic((length - mean) / spread) if right else 0.0
            for length, right in zip(lengths, correct, strict=True)
        ]


def _logistic(value: float) -> float:
    # As a hyperbolic tangent it overflows nowhere.
    return 0.5 * (1.0 + tanh(0.5 * value))
