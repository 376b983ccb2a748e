"""Long texts, split into lines part by part.

The lines of a long text do not all fit into the processor's cache, and outside it every step takes several times as long.
"""

import re
from collections.abc import Iterable, Iterator

_PART = 1 << 16
_TAIL = 1 << 8
_BLANK = re.compile(r"\s*+")


def parts(text: str, stretches: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Yield the stretches of ``text``, given as start and end, joined and cut to parts of whole lines.

    Each stretch must be of whole lines. The line break between two parts may be in neither.
    """
    kept: list[str] = []
    length = 0
    for start, end in stretches:
        while end - start > _PART and (cut := text.find("\n", start + _PART, end)) >= 0:
            kept.append(text[start:cut])
            yield "".join(kept)
            kept, length, start = [], 0, cut + 1
        kept.append(text[start:end])
        length += end - start
        if length >= _PART:
            yield "".join(kept)
            kept, length = [], 0
    if kept:
        yield "".join(kept)


def code_lines(text: str) -> Iterator[str]:
    """The lines of a text without comments, stripped, without blank ones."""
    return filter(None, map(str.strip, text.split("\n")))


def stripped_line_count(text: str, line_count: int) -> int:
    """The number of lines of ``text.strip()``, given that of ``text``. Makes no copy of a long text."""
    start = _BLANK.match(text).end()
    if start == len(text):
        return 1
    end, size = len(text), _TAIL
    while not (tail := text[max(start, end - size) : end].rstrip()):
        end, size = end - size, 2 * size
    end = max(start, end - size) + len(tail)
    return line_count - text.count("\n", 0, start) - text.count("\n", end)
