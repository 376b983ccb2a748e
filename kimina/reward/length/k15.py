"""The length reward of Kimi k1.5."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from kimina.reward.length.base import Budgets, LengthControl, check_step, checked_group


class K15(LengthControl):
    """Short correct answers gain, long answers lose; Kimi k1.5 (arXiv 2501.12599), section 2.3.3.

    Of the k responses to one problem, with ``min_len`` and ``max_len`` over all of them, correct and wrong::

        lambda = 0.5 - (len(i) - min_len) / (max_len - min_len)      in [-0.5, 0.5]

        len_reward(i) = lambda            if r(x, y_i, y*) = 1
                        min(0, lambda)    if r(x, y_i, y*) = 0

    All are 0 when ``max_len = min_len``. What is added is ``weight x len_reward``, times the warm-up::

        step     0 before start_step, then 1
        linear   0 before start_step, then (step - start_step + 1) / ramp_steps, at most 1

    The paper warms up by a step, "standard policy optimization without length penalty, followed by a constant length
    penalty for the rest of training", and gives neither its weight nor its start; these defaults are ours. With a
    weight of 0.5 the longest correct answer has 0.75 and a wrong one at most 0, so that being correct counts for more
    than being short. The linear warm-up is ours, too.
    """

    name: ClassVar[str] = "k15"
    weight: float = Field(default=0.5, ge=0)
    warmup: Literal["step", "linear"] = "step"
    start_step: int = Field(default=20, ge=0)
    ramp_steps: int = Field(default=20, ge=1)

    def active(self, step: int) -> bool:
        check_step(step)
        return step >= self.start_step

    def share(self, step: int) -> float:
        """The warm-up's factor at a step, from 0 to 1."""
        if not self.active(step):
            return 0.0
        return 1.0 if self.warmup == "step" else min(1.0, (step - self.start_step + 1) / self.ramp_steps)

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        scale = self.weight * self.share(step)
        return [scale * reward for reward in k15_length_reward(lengths, correct)]


def k15_length_reward(lengths: Sequence[int], correct: Sequence[bool]) -> list[float]:
    """Return ``len_reward(i)`` of each response of one group, without weight and warm-up.

    Raises:
        ValueError: the arguments are no group.
    """
    tokens, outcomes = checked_group(lengths, correct)
    shortest, longest = min(tokens), max(tokens)
    if shortest == longest:
        return [0.0] * len(tokens)
    rewards = [0.5 - (length - shortest) / (longest - shortest) for length in tokens]
    return [reward if right else min(0.0, reward) for reward, right in zip(rewards, outcomes, strict=True)]


def k15_total(lengths: Sequence[int], correct: Sequence[bool], *, weight: float, step: int, start_step: int) -> list[float]:
    """Return correctness plus the weighted length reward, which counts from ``start_step`` on.

    Raises:
        ValueError: the arguments are no group, or a setting is out of range.
    """
    added = K15(weight=weight, start_step=start_step).rewards(lengths, correct, step)
    return [float(right) + reward for right, reward in zip(correct, added, strict=True)]
