"""Whether a text of tokens has begun to repeat itself.

Kimi k1.5 (section 2.6.2) ends such responses early and may penalise them; it gives no rule. The rule here: the tail of
the text is periodic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RepetitionRule:
    """The last ``max(times x p, min_tokens)`` tokens have a period of p tokens, for some p from 1 to ``max_period``.

    A tail x has period p if x[i] = x[i - p] wherever both exist.
    """

    times: int
    max_period: int
    min_tokens: int

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> "RepetitionRule":
        """Read ``rollout.repetition``."""
        return cls(settings["times"], settings["max_period"], settings["min_tokens"])

    def period(self, tokens: Sequence[int]) -> int | None:
        """Return the shortest period that the rule finds at the end of ``tokens``, or None.

        A text without an end in sight is looked at in constant time: only its last ``max(times x max_period, min_tokens)``
        tokens count.
        """
        longest = max(self.times * self.max_period, self.min_tokens)
        tail = np.asarray(tokens[-longest:], dtype=np.int64)
        for period in range(1, self.max_period + 1):
            span = max(self.times * period, self.min_tokens)
            if span > len(tail):
                continue
            last = tail[-span:]
            if (last[period:] == last[:-period]).all():
                return period
        return None
