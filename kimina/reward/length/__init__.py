"""Length control: what is added to a reward for the length of a response, and budgets that prompts ask for."""

from kimina.reward.length.base import LengthControl
from kimina.reward.length.factory import LENGTHS, make_length_control
from kimina.reward.length.k15 import k15_length_reward, k15_total
from kimina.reward.length.overlong import overlong_penalty

__all__ = [
    "LENGTHS",
    "LengthControl",
    "k15_length_reward",
    "k15_total",
    "make_length_control",
    "overlong_penalty",
]
