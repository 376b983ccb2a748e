"""What a step's responses tell about how they were drawn: by which versions of the policy, and whether they repeated
themselves. Knows neither verl nor torch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimina.verl.group_rewards import mean


#: Names in a sample's ``extra_fields``. The first holds [version, tokens] pairs in the order of the text.
SEGMENTS, REPETITION = "segments", "repetition"


def earlier_tokens(segments: Sequence[Sequence[int]]) -> Iterator[bool]:
    """Yield for each token of a response whether another version of the policy drew it than the one that ended it.

    Args:
        segments: (version, tokens) in the order of the text.
    """
    last = segments[-1][0] if segments else None
    for version, tokens in segments:
        yield from [version != last] * tokens


class RolloutRecord:
    """Collects one step's responses; those of verl's plain client have no segments and are not counted."""

    def __init__(self):
        self._segments: dict[str, list[tuple[int, int]]] = {}
        self._repeats: set[str] = set()
        self._step = 0

    def add(self, key: str, extra: Mapping[str, Any], step: int) -> None:
        """Take in one response: ``extra`` are its ``extra_fields``, ``step`` is the step that trains on it."""
        if SEGMENTS not in extra:
            return
        self._step = step
        self._segments[key] = [(int(version), int(tokens)) for version, tokens in extra[SEGMENTS]]
        if extra[REPETITION]:
            self._repeats.add(key)

    def penalties(self, keys: Sequence[str], penalty: float) -> dict[str, float]:
        """Return what is taken off each response that repeats itself."""
        return {key: penalty for key in keys if key in self._repeats}

    def figures(self) -> dict[str, float | None]:
        """Return the step's figures, empty where no response has a record.

        ``staleness`` and ``staleness_max``: versions between the policy that drew a response's last (first) token and the
        one that learns from it, mean and largest; 0 is on-policy. ``continued``: share of responses that more than one
        version drew. ``earlier_tokens``: share of tokens drawn by another version than the one that ended the response.
        ``repetition``: share of responses that were ended for repeating themselves.
        """
        if not self._segments:
            return {}
        # step n learns with the weights that step n - 1 left behind
        current = self._step - 1
        drawn = list(self._segments.values())
        tokens = sum(count for segments in drawn for _, count in segments)
        earlier = sum(sum(earlier_tokens(segments)) for segments in drawn)
        return {
            "staleness": mean([float(current - segments[-1][0]) for segments in drawn]),
            "staleness_max": float(max(current - segments[0][0] for segments in drawn)),
            "continued": mean([float(segments[0][0] != segments[-1][0]) for segments in drawn]),
            "earlier_tokens": earlier / tokens,
            "repetition": len(self._repeats) / len(drawn),
        }
