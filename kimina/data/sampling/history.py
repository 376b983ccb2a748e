"""How often each problem was solved, as far as its attempts tell."""

from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from kimina.data.sampling.base import Outcome, SamplingSettings
from kimina.data.sampling.packed import packed, unpacked


class HistorySettings(SamplingSettings):
    """How success rates are estimated; see :class:`SuccessHistory`. No paper gives values: these are ours."""

    prior_successes: float = Field(default=0.5, ge=0, allow_inf_nan=False)
    prior_attempts: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    window: int | None = Field(default=None, ge=1, le=100)

    @model_validator(mode="after")
    def _prior_is_a_rate(self) -> Self:
        if self.prior_successes > self.prior_attempts:
            raise ValueError(f"prior_successes={self.prior_successes:g} of prior_attempts={self.prior_attempts:g} is no rate")
        return self


class SuccessHistory:
    """The success rate of each row, smoothed:

        s_i = (c_i + a) / (n_i + b)

    with c_i successes of n_i judged attempts, and a = ``prior_successes`` of b = ``prior_attempts`` beforehand. The
    defaults a = 1/2, b = 1 give the mean of the posterior under Jeffreys' prior; a row without attempts has s = 1/2.

    With ``window`` = w only the last w draws of a row count (a draw is a group of attempts; of one that nobody judged
    nothing is recorded), because the policy that made older ones is gone.
    """

    def __init__(self, rows: int, settings: HistorySettings) -> None:
        self._settings = settings
        # Rows x draws: with a window a ring, without one a single total.
        width = settings.window or 1
        self._attempts_RW = np.zeros((rows, width), dtype=np.int32)
        self._successes_RW = np.zeros((rows, width), dtype=np.int32)
        self._next_R = np.zeros(rows, dtype=np.int8)

    def add(self, outcome: Outcome) -> None:
        """Count one draw, which has attempts."""
        row, place = outcome.row, self._next_R[outcome.row]
        if self._settings.window is None:
            self._attempts_RW[row, 0] += outcome.attempts
            self._successes_RW[row, 0] += outcome.successes
            return
        self._attempts_RW[row, place] = outcome.attempts
        self._successes_RW[row, place] = outcome.successes
        self._next_R[row] = (place + 1) % self._settings.window

    def rates(self) -> np.ndarray:
        """Return s, one number a row."""
        attempts, successes = self._attempts_RW.sum(axis=1), self._successes_RW.sum(axis=1)
        return (successes + self._settings.prior_successes) / (attempts + self._settings.prior_attempts)

    def measured(self) -> np.ndarray:
        """Return which rows have an attempt."""
        return self._attempts_RW.any(axis=1)

    def state(self) -> dict[str, Any]:
        """Return all counts, as JSON can hold them."""
        return {
            "attempts": packed(self._attempts_RW),
            "successes": packed(self._successes_RW),
            "next": packed(self._next_R),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of a history of the same size."""
        self._attempts_RW = unpacked(state["attempts"])
        self._successes_RW = unpacked(state["successes"])
        self._next_R = unpacked(state["next"])
