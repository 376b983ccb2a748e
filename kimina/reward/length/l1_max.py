"""Lengths that the prompt asks for: L1-Max."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from kimina.reward.length.base import Budgets, LengthControl, Message, checked_tokens
from kimina.reward.length.messages import with_user_suffix


class L1Max(LengthControl):
    """A budget stands in the prompt, and correct answers lose by exceeding it; L1 (arXiv 2503.04697), LCPO-Max.

    Each prompt of a step gets a budget n_gold ~ U{low .. high} of its own, the same for its whole group, and ends with
    "Think for {n_gold} tokens.". With n_y the length of the response::

        r = 1{correct} clip(alpha (n_gold - n_y) + delta, 0, 1)

    What is added is ``r - 1{correct}``: between -1 and 0 for a correct answer, 0 for a wrong one. At the budget a
    correct answer has r = delta, so that it still beats a wrong one. The numbers are the paper's (alpha 0.0003, delta
    0.5, budgets of 100 to 4,000 tokens). The released code scales otherwise: its slope is half of its alpha.
    """

    name: ClassVar[str] = "l1_max"
    alpha: float = Field(default=0.0003, gt=0)
    delta: float = Field(default=0.5, ge=0, le=1)
    low: int = Field(default=100, ge=1)
    high: int = Field(default=4000, ge=1)

    @model_validator(mode="after")
    def _range_rises(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"length.low={self.low} is above length.high={self.high}: budgets are drawn from low to high")
        return self

    def budget(self, seed: int, step: int, number: int) -> int:
        # A hash in place of a generator's state: any worker finds the budget of any prompt without drawing the others.
        digest = hashlib.sha256(f"l1_max:{int(seed)}:{int(step)}:{int(number)}".encode()).digest()
        return self.low + int.from_bytes(digest) * (self.high - self.low + 1) // 2 ** (8 * len(digest))

    def largest_budget(self) -> int:
        return self.high

    def instruct(self, messages: Sequence[Mapping[str, Any]], budget: int | None) -> list[Message]:
        if budget is None:
            return super().instruct(messages, budget)
        return with_user_suffix(messages, f"Think for {checked_tokens('a budget', budget, least=1)} tokens.")

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        if budgets is None:
            raise ValueError("length=l1_max needs the budget that stood in the prompt of each sample")
        asked = [checked_tokens("a budget", budget, least=1) for budget in budgets]
        return [
            min(1.0, max(0.0, self.alpha * (budget - length) + self.delta)) - 1.0 if right else 0.0
            for length, right, budget in zip(lengths, correct, asked, strict=True)
        ]
