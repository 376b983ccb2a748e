"""Walks over Lean text piece by piece, with the memory that comments and strings need."""

import re
from enum import StrEnum

from kimina.lean.lexical import (
    CHARACTER,
    INTERPOLATED_BODY,
    LINE_COMMENT,
    NAME_REST,
    NUMBER,
    QUOTED_NAME,
    RAW_STRING_OPEN,
    STRING_BODY,
    any_of,
)


class TokenKind(StrEnum):
    """What a piece of text is.

    ``CODE`` occurs only in segments: a run of white space, names, numbers and symbols. ``COMMENT_RUN``,
    ``LITERAL_RUN`` and ``QUOTED_NAME`` occur only in runs, see ``kimina.lean.runs``.
    """

    WHITESPACE = "whitespace"
    LINE_COMMENT = "line_comment"
    BLOCK_COMMENT = "block_comment"
    STRING = "string"
    CHARACTER = "character"
    NUMBER = "number"
    NAME = "name"
    SYMBOL = "symbol"
    UNCLOSED_NAME = "unclosed_name"
    CODE = "code"
    COMMENT_RUN = "comment_run"
    LITERAL_RUN = "literal_run"
    QUOTED_NAME = "quoted_name"


_COMMENT_EDGE = re.compile(r"/-|-/")
_STRING_BODY = re.compile(STRING_BODY, re.DOTALL)
_INTERPOLATED_BODY = re.compile(INTERPOLATED_BODY, re.DOTALL)
# A string right behind one of these is interpolated: what stands between its braces is code.
INTERPOLATING = frozenset(
    {"s!", "m!", "f!", "println!", "eprintln!", "throwError", "dbg_trace", "logInfo!", "panic!", "throwErrorAt"}
)
INTERPOLATING_ENDS = frozenset(word[-1] for word in INTERPOLATING)
"""The last letters of these words."""
_REST_CHARACTER = re.compile(f"[{NAME_REST}]")
_LEADING_NUMBER = re.compile(NUMBER)
_LONGEST_INTERPOLATING = max(map(len, INTERPOLATING))


def special_pattern(watched: frozenset[str] = frozenset()) -> re.Pattern[str]:
    """A pattern for how pieces begin that are not plain code; its groups are what ``Walker.special`` asks for."""
    return re.compile(
        rf"(?P<line>{LINE_COMMENT})|(?P<block>/-)|(?P<raw>{RAW_STRING_OPEN})|(?P<string>\")|(?P<character>{CHARACTER})"
        + (f"|(?P<word>{any_of(watched)})|(?P<quoted>{QUOTED_NAME})" if watched else ""),
        re.DOTALL,
    )


def _block_comment_end(text: str, start: int) -> int:
    """The offset behind the block comment that opens at ``start``; comments nest."""
    # The sign behind /- belongs to the opener of a doc comment: /--/ is open.
    body = start + 3 if text[start + 2 : start + 3] in ("-", "!") else start + 2
    close = text.find("-/", body)
    if close >= 0 and text.find("/-", body, close + 1) < 0:
        return close + 2
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, body):
        depth += 1 if text[edge.start()] == "/" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _interpolates(text: str, code_end: int) -> bool:
    """Whether the token that ends at ``code_end`` makes the string behind it an interpolated one."""
    if code_end == 0 or text[code_end - 1] not in INTERPOLATING_ENDS:
        return False
    start = code_end
    # A name that is longer than any of these words is none of them, so that looking a bit further back is enough.
    while start > 0 and code_end - start <= _LONGEST_INTERPOLATING and _REST_CHARACTER.match(text, start - 1):
        start -= 1
    if start > 0 and text[start - 1] == ".":
        return False
    number = _LEADING_NUMBER.match(text, start, code_end)
    return text[number.end() if number else start : code_end] in INTERPOLATING


class Walker:
    """Walks over a text; keeps what the next piece depends on.

    ``holes`` holds, for each interpolated string that is open, the number of open braces inside its current hole;
    ``code_end`` is the offset behind the last stretch of code, one of white space alone aside, that stands behind the
    last string or character, and 0 if there is none; who passes code has to set it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.holes: list[int] = []
        self.code_end = 0

    def interpolates(self) -> bool:
        """Whether the code before a string that starts here makes it an interpolated one."""
        end = self.code_end
        while end > 0 and self.text[end - 1].isspace():
            end -= 1
        return _interpolates(self.text, end)

    def special(self, start: int, match: re.Match[str] | None) -> tuple[TokenKind, int]:
        """The kind and the end of the piece at ``start``, which is not plain code; ``match`` tells how it begins."""
        text = self.text
        group = match.lastgroup if match else None
        if group == "line":
            return TokenKind.LINE_COMMENT, match.end()
        if group == "block":
            return TokenKind.BLOCK_COMMENT, _block_comment_end(text, start)
        if group == "word" or group == "quoted":
            self.code_end = match.end()
            return TokenKind.NAME if group == "word" else TokenKind.QUOTED_NAME, match.end()
        interpolated = group == "string" and self.interpolates()
        self.code_end = 0
        if interpolated:
            self.holes.append(0)
            return self._interpolated(start)
        if group == "string":
            return TokenKind.STRING, min(len(text), _STRING_BODY.match(text, start + 1).end() + 1)
        if group == "character":
            return TokenKind.CHARACTER, match.end()
        if group == "raw":
            closing = text.find('"' + "#" * (match.end() - start - 2), match.end())
            return TokenKind.STRING, len(text) if closing < 0 else closing + match.end() - start - 1
        if self.holes and text[start] in "{}":
            return self._brace(start)
        # A quoted name that never closes: Lean reads to the end and refuses.
        return TokenKind.UNCLOSED_NAME, len(text)

    def _interpolated(self, start: int) -> tuple[TokenKind, int]:
        """A piece of an interpolated string, from its quote or closing brace up to the next hole or its end."""
        end = _INTERPOLATED_BODY.match(self.text, start + 1).end()
        if end >= len(self.text) or self.text[end] == '"':
            self.holes.pop()
        return TokenKind.STRING, min(len(self.text), end + 1)

    def _brace(self, start: int) -> tuple[TokenKind, int]:
        if self.text[start] == "{":
            self.holes[-1] += 1
        elif self.holes[-1] == 0:
            return self._interpolated(start)
        else:
            self.holes[-1] -= 1
        self.code_end = start + 1
        return TokenKind.SYMBOL, start + 1
