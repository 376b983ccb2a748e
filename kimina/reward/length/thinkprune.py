"""A generation limit that falls in stages: ThinkPrune."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from kimina.reward.length.base import Budgets, LengthControl, Message, check_step, checked_tokens
from kimina.reward.length.messages import with_system_suffix

_Limit = Annotated[int, Field(ge=1)]


class Thinkprune(LengthControl):
    """Only what is finished within the limit counts, and the limit falls; ThinkPrune (arXiv 2504.01296).

    With L the limit of the step, in tokens::

        r = 1{correct} if len <= L, else 0

    What is added is ``r - 1{correct}``: -1 for a correct answer beyond the limit, else 0. Responses are cut at L, so
    this is for those that were sampled under an earlier limit. L also stands in the system prompt; that wording is
    ours.

    ``limits`` are the stages (the paper's: 4,000, 3,000, 2,000 tokens); the first holds from the beginning and the
    others from ``change_steps`` on, whose defaults are ours: the paper starts a new run from the last one's checkpoint.
    """

    name: ClassVar[str] = "thinkprune"
    limits: list[_Limit] = Field(default=[4000, 3000, 2000], min_length=1)
    change_steps: list[_Limit] = Field(default=[30, 60])

    @model_validator(mode="after")
    def _stages_fit(self) -> Self:
        if len(self.change_steps) != len(self.limits) - 1:
            raise ValueError(
                f"length.change_steps={self.change_steps} has {len(self.change_steps)} steps: it must have one for each limit of "
                f"length.limits={self.limits} after the first, {len(self.limits) - 1} in all"
            )
        if any(after >= before for before, after in pairwise(self.limits)):
            raise ValueError(f"length.limits={self.limits}: each limit must be below the one before it")
        if any(after <= before for before, after in pairwise(self.change_steps)):
            raise ValueError(f"length.change_steps={self.change_steps}: each step must be after the one before it")
        return self

    def limit(self, step: int) -> int:
        check_step(step)
        return self.limits[bisect_right(self.change_steps, step)]

    def budget(self, seed: int, step: int, number: int) -> int:
        return self.limit(step)

    def largest_budget(self) -> int:
        return self.limits[0]

    def instruct(self, messages: Sequence[Mapping[str, Any]], budget: int | None) -> list[Message]:
        if budget is None:
            return super().instruct(messages, budget)
        tokens = checked_tokens("a budget", budget, least=1)
        return with_system_suffix(
            messages, f"Your whole output, thinking and final answer together, must not be longer than {tokens} tokens."
        )

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        limit = self.limit(step)
        return [-1.0 if right and length > limit else 0.0 for length, right in zip(lengths, correct, strict=True)]
