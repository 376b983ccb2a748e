"""Check against responses that are too long."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.sample import Sample


class TooLong(Check):
    """The response is longer than a limit: ``length > max``; without ``max`` there is no limit.

    With a ``buffer`` the reward of a response that is near the limit falls before that (``penalty``)::

        penalty = 0                                   length <= max - buffer
        penalty = (max - buffer - length) / buffer    max - buffer < length <= max

    ``unit`` is tokens or characters; ``auto`` is tokens where they are counted, else characters.
    Kimina-Prover-RL's publication says that unnecessarily long responses are penalised, its released code has no
    limit; the linear penalty over a buffer is DAPO's (arXiv 2503.14476, section 3.4).
    """

    name: ClassVar[str] = "too_long"
    max: int | None = Field(default=None, ge=1)
    buffer: int = Field(default=0, ge=0)
    unit: Literal["auto", "tokens", "characters"] = "auto"

    @model_validator(mode="after")
    def _buffer_fits(self) -> "TooLong":
        if self.buffer and (self.max is None or self.buffer > self.max):
            raise ValueError("buffer must not be above max")
        return self

    def length(self, sample: Sample) -> int:
        """The length of the response in the check's unit."""
        if self.unit == "characters" or sample.token_count is None:
            return sample.raw_length
        return sample.token_count

    def measure(self, sample: Sample) -> Measurement:
        length = self.length(sample)
        return measurement(self.max is not None and length > self.max, length, self.max)

    def penalty(self, sample: Sample) -> float:
        """What the reward of this response loses: 0 up to the buffer, down to -1 at the limit and beyond."""
        if not self.enabled or not self.buffer or self.max is None:
            return 0.0
        return max(-1.0, min(0.0, (self.max - self.buffer - self.length(sample)) / self.buffer))
