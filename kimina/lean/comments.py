"""The comments of a Lean text."""

from array import array
from collections.abc import Iterator
from io import StringIO

from kimina.lean.runs import COMMENT, runs
from kimina.lean.walker import TokenKind

_KINDS = frozenset({TokenKind.COMMENT_RUN, TokenKind.LINE_COMMENT, TokenKind.BLOCK_COMMENT})


class Comments:
    """The comments of ``text``, which come run by run.

    A text can have millions of comments. They are kept as numbers in an array, because so many objects would cost far
    more than finding them, and the more, the more there are.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._edges = array("q")  # start and end of each run
        self._single = bytearray()  # for each run, whether it is known to be a single comment
        self._removed: str | None = None

    @staticmethod
    def of(text: str) -> "Comments":
        """Find the comments of ``text``."""
        found = Comments(text)
        if "--" in text or "/-" in text:
            for kind, start, end in runs(text):
                found.add(kind, start, end)
        return found

    def add(self, kind: TokenKind, start: int, end: int) -> None:
        """Take note of a run of the text, in order; passes over those that are no comments."""
        if kind in _KINDS:
            self._edges.append(start)
            self._edges.append(end)
            self._single.append(kind is not TokenKind.COMMENT_RUN)

    def __iter__(self) -> Iterator[str]:
        """Yield the text of each comment."""
        for run, single in self._runs():
            if single:
                yield run
            else:
                for comment in COMMENT.finditer(run):
                    yield comment[0]

    @property
    def removed(self) -> str:
        """The text without its comments; the line break that ends a line comment stays."""
        if self._removed is None:
            self._removed = self._remove()
        return self._removed

    def _remove(self) -> str:
        if not self._single:
            return self.text
        # A buffer, because a list could have as many parts as the text has characters.
        kept, position = StringIO(), 0
        for index, (run, single) in enumerate(self._runs()):
            kept.write(self.text[position : self._edges[2 * index]])
            position = self._edges[2 * index + 1]
            if not single:
                kept.write(COMMENT.sub("", run))
        kept.write(self.text[position:])
        return kept.getvalue()

    def _runs(self) -> Iterator[tuple[str, bool]]:
        edges = iter(self._edges)
        for start, end, single in zip(edges, edges, self._single, strict=True):
            yield self.text[start:end], bool(single)
