"""Advantages of one group: the G responses to one prompt, from one reward each, in float64.

A reward of None is a response that nobody judged: it leaves the group, and its advantage is None.
Equal rewards give exact zeros, whatever their rounding.
"""

import math
from collections.abc import Callable, Sequence

#: Added to the standard deviation, as in verl's GRPO: with it a group whose rewards differ by rounding alone stays small.
STD_FLOOR = 1e-6

Rewards = Sequence[float | None]
Advantages = list[float | None]


def centred(rewards: Rewards) -> Advantages:
    """Return A_i = r_i − mean(r) (Dr. GRPO, arXiv 2503.20783, figure 1).

    Raises:
        ValueError: fewer than two rewards: a response has nobody to be compared with.
    """
    return _of_judged(rewards, _centred)


def standardised(rewards: Rewards, floor: float = STD_FLOOR) -> Advantages:
    """Return A_i = (r_i − mean(r)) / (std(r) + floor), std unbiased (divided by G − 1) (GRPO, arXiv 2402.03300).

    Raises:
        ValueError: as for :func:`centred`.
    """

    def of_judged(values: Sequence[float]) -> list[float]:
        differences = _centred(values)
        std = math.sqrt(math.fsum(difference**2 for difference in differences) / (len(values) - 1))
        return [difference / (std + floor) if difference else 0.0 for difference in differences]

    return _of_judged(rewards, of_judged)


def leave_one_out(rewards: Rewards) -> Advantages:
    """Return A_i = r_i − mean of the others' rewards = G/(G − 1) · (r_i − mean(r)) (RLOO, arXiv 2402.14740).

    Raises:
        ValueError: as for :func:`centred`.
    """

    def of_judged(values: Sequence[float]) -> list[float]:
        scale = len(values) / (len(values) - 1)
        return [scale * difference for difference in _centred(values)]

    return _of_judged(rewards, of_judged)


def positive_part(rewards: Rewards) -> Advantages:
    """Return A_i = max(r_i, 0): responses without a reward take no part (ReST, as compared with in k1.5, section 3.5)."""
    return [None if reward is None else max(reward, 0.0) for reward in rewards]


def _centred(values: Sequence[float]) -> list[float]:
    if min(values) == max(values):
        return [0.0] * len(values)
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def _of_judged(rewards: Rewards, rule: Callable[[Sequence[float]], list[float]]) -> Advantages:
    judged = [float(reward) for reward in rewards if reward is not None]
    if len(judged) < 2:
        raise ValueError(f"a group needs at least 2 judged responses to compare, not {len(judged)}: {list(rewards)}")
    if not all(math.isfinite(value) for value in judged):
        raise ValueError(f"rewards must be finite numbers: {list(rewards)}")
    found = iter(rule(judged))
    return [None if reward is None else next(found) for reward in rewards]
