"""The comments of a Lean text."""

from array import array
from collections.abc import Iterator
from io import StringIO

from kimina.lean.runs import COMMENT, COMMENT_OR_REST, PIECE, runs
from kimina.lean.walker import TokenKind

# What a run has: comments and white space, literals as well, or just one comment.
_COMMENTS, _MIXED, _ONE_COMMENT = range(3)
_SHORTEST_MIXED = len('""--')


class Comments:
    """The comments of ``text``, which come run by run.

    A text can have millions of comments. They are kept as numbers in an array, because so many objects would cost far
    more than finding them, and the more, the more there are.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._edges = array("q")  # start and end of each run that has comments
        self._contents = bytearray()  # for each of them, what it has
        self._removed: str | None = None

    @staticmethod
    def of(text: str) -> "Comments":
        """Find the comments of ``text``."""
        found = Comments(text)
        for kind, start, end in runs(text):
            found.add(kind, start, end)
        return found

    def add(self, kind: TokenKind, start: int, end: int) -> None:
        """Take note of the comments in a run of the text, if it has any. The runs must come in order."""
        if kind is TokenKind.COMMENT_RUN:
            content = _COMMENTS
        elif kind is TokenKind.LITERAL_RUN:
            if end - start < _SHORTEST_MIXED or not may_have_comments(self.text[start:end]):
                return
            content = _MIXED
        elif kind is TokenKind.LINE_COMMENT or kind is TokenKind.BLOCK_COMMENT:
            content = _ONE_COMMENT
        else:
            return
        self._edges.append(start)
        self._edges.append(end)
        self._contents.append(content)

    def __iter__(self) -> Iterator[str]:
        """Yield the text of each comment."""
        edges = iter(self._edges)
        for start, end, content in zip(edges, edges, self._contents, strict=True):
            if content == _ONE_COMMENT:
                yield self.text[start:end]
            else:
                for piece in PIECE.finditer(self.text, start, end):
                    if piece.lastgroup:
                        yield piece[0]

    @property
    def removed(self) -> str:
        """The text without its comments; the line break that ends a line comment stays."""
        if self._removed is None:
            self._removed = self._remove() if self._contents else self.text
        return self._removed

    def _remove(self) -> str:
        text, position = self.text, 0
        # A buffer, because a list could have as many parts as the text has characters.
        kept = StringIO()
        edges = iter(self._edges)
        for start, end, content in zip(edges, edges, self._contents, strict=True):
            kept.write(text[position:start])
            if content == _COMMENTS:
                kept.write(COMMENT.sub("", text[start:end]))
            elif content == _MIXED:
                kept.write("".join(COMMENT_OR_REST.findall(text, start, end)))
            position = end
        kept.write(text[position:])
        return kept.getvalue()


def may_have_comments(text: str) -> bool:
    """Whether anything in ``text`` could begin a comment."""
    return "--" in text or "/-" in text
