"""The length reward of ShorterBetter."""

from statistics import fmean
from typing import ClassVar

from pydantic import Field

from kimina.reward.length.base import Budgets, LengthControl


class ShorterBetter(LengthControl):
    """Every answer loses by its distance to the shortest correct one; ShorterBetter (arXiv 2504.21370).

    Over the group of one prompt, with l_i the length of response i::

        l* = min of l_j over correct j, or the mean of all l_j when nobody is correct    (sample optimal length)
        r_i = alpha 1{correct} - beta |l* - l_i|

    What is added is ``r_i - 1{correct}``, so a correct answer's reward is alpha, not 1, before the length counts. The
    defaults are those of the released code. One secondary source has the maximum in place of the mean; the released
    code has the mean.
    """

    name: ClassVar[str] = "shorter_better"
    alpha: float = Field(default=2.0, gt=0)
    beta: float = Field(default=0.001, gt=0)

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        among = [length for length, right in zip(lengths, correct, strict=True) if right]
        optimal = min(among) if among else fmean(lengths)
        return [
            (self.alpha - 1.0 if right else 0.0) - self.beta * abs(optimal - length)
            for length, right in zip(lengths, correct, strict=True)
        ]
