"""Check against thinking that repeats itself."""

import re
from collections import Counter
from operator import itemgetter
from typing import ClassVar

from pydantic import Field

from kimina.reward.checks.base import Check, Measurement, measurement
from kimina.reward.lines import parts
from kimina.reward.sample import Sample

# English function words; a line made of them says nothing, and repeating it is no loop.
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below between both
    but by can cannot could did do does doing down during each few for from further had has have having he her here
    hers herself him himself his how however i if in into is it its itself just let may me might more most must my
    myself no nor not now of off on once only or other ought our ours ourselves out over own same shall she should so
    some such than that the their theirs them themselves then there therefore these they this those through thus to
    too under until up upon us very was we were what when where which while who whom why will with would yet you your
    yours yourself yourselves
    """.split()
)
_WORD = re.compile(r"\w+")


class RepeatedLines(Check):
    """A significant line of the think block occurs too often: ``max over lines of count(line) >= max``.

    Lines are stripped and in lower case; lines of tactic blocks do not count. A line is significant when it has at
    least ``min_words`` words that are no stop words. Kimina-Prover-RL, released format reward, check 5.
    """

    name: ClassVar[str] = "repeated_lines"
    max: int = Field(default=6, ge=1)
    min_words: int = Field(default=10, ge=1)

    def measure(self, sample: Sample) -> Measurement | None:
        if not sample.has_think_block:
            return None
        # A line of so many words, with one blank between them, has at least so many characters.
        shortest = 2 * self.min_words - 1
        counts: dict[str, int] = {}
        for text in parts(sample.response.text, sample.response.think_stretches()):
            lines = [line for line in map(str.strip, text.lower().split("\n")) if len(line) >= shortest]
            counts = _counted(lines, counts)
        least = min(self.max, 2)
        # Most lines occur once and are not worth sorting.
        repeated = [item for item in counts.items() if item[1] >= least]
        for line, count in sorted(repeated, key=itemgetter(1), reverse=True):
            if self._significant(line):
                return measurement(count >= self.max, count, self.max, line[:80] if count >= self.max else None)
        return measurement(False, 1, self.max)

    def _significant(self, line: str) -> bool:
        return sum(word not in STOP_WORDS for word in _WORD.findall(line)) >= self.min_words


def _counted(lines: list[str], before: dict[str, int]) -> dict[str, int]:
    """How often each line occurs, given that for the lines before; in order of appearance."""
    if not before:
        once = dict.fromkeys(lines, 1)
        if len(once) == len(lines):
            return once
    counts = before if isinstance(before, Counter) else Counter(before)
    counts.update(lines)
    return counts
