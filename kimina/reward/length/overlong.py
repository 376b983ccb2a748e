"""The penalty for responses that come near the generation limit."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from kimina.reward.length.base import Budgets, LengthControl, checked_tokens

# DAPO's 4,096 of 20,480 tokens.
_DEFAULT_SHARE = 5


class Overlong(LengthControl):
    """Soft overlong punishment; DAPO (arXiv 2503.14476), section 3.4.

    With L_max = ``max_length`` and L_cache = ``buffer``, in tokens::

        R_length(y) =  0                                      |y| <= L_max - L_cache
                       ((L_max - L_cache) - |y|) / L_cache    L_max - L_cache < |y| <= L_max
                      -1                                      L_max < |y|

    What is added is ``factor x R_length``, for correct and wrong responses alike. DAPO expects up to 16,384 tokens and
    has a cache of 4,096 above them, so its L_max is 20,480. ``buffer: null`` is the same share of any limit, a fifth
    (at least one token); with 0 there is no slope, only the step above L_max.
    """

    name: ClassVar[str] = "overlong"
    max_length: int = Field(ge=1)
    buffer: int | None = Field(default=None, ge=0)
    factor: float = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _buffer_fits(self) -> Self:
        if self.buffer is not None and self.buffer > self.max_length:
            raise ValueError(
                f"length.buffer={self.buffer} is larger than length.max_length={self.max_length}: the buffer is the last "
                "part of that length"
            )
        return self

    @property
    def buffer_tokens(self) -> int:
        """L_cache."""
        return max(1, self.max_length // _DEFAULT_SHARE) if self.buffer is None else self.buffer

    def _added(self, lengths: list[int], correct: list[bool], step: int, budgets: Budgets) -> list[float]:
        return [self.factor * overlong_penalty(length, self.max_length, self.buffer_tokens) for length in lengths]


def overlong_penalty(length: int, max_length: int, buffer: int) -> float:
    """Return R_length of one response: 0 up to ``max_length - buffer``, falling to -1 at ``max_length``, then -1.

    Raises:
        ValueError: an argument is no number of tokens, or the buffer is larger than the limit.
    """
    tokens = checked_tokens("a length", length)
    most, slope = checked_tokens("a limit", max_length, least=1), checked_tokens("a buffer", buffer)
    if slope > most:
        raise ValueError(f"a buffer of {slope} tokens is larger than the limit of {most}")
    free = most - slope
    if tokens <= free:
        return 0.0
    return -1.0 if tokens > most else (free - tokens) / slope
