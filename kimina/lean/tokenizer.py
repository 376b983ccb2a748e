"""Lean 4 source text as tokens.

Every question about Lean text (share of comments, forbidden words, whether the statement was kept) is asked of the
tokens made here. The tokenizer follows the lexical rules of Lean 4: nested block comments, strings with escapes and
interpolation, raw strings, character literals, quoted names, and the longest match for symbols that end in a sign that
could also start something else (``<-``, ``//``, ``∑'``).

It accepts any text and never fails: what Lean would refuse (an unclosed comment or string) is one token that reaches
to the end. Its time is linear in the length of the text, and the tokens, joined, are the text.

Three granularities share one set of rules. ``kimina.lean.runs`` finds stretches of comments, strings and the few names
that the caller watches for, and costs least; ``segments`` gives each of them and the code between; ``iter_tokens``
splits the code further.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kimina.lean.comments import Comments
from kimina.lean.lexical import ATOM, CHARACTER, NAME, NAME_FIRST, NAME_REST, NUMBER, RAW_STRING_OPEN, SYMBOL
from kimina.lean.runs import PIECE, runs
from kimina.lean.walker import INTERPOLATING, TokenKind, Walker, special_pattern

COMMENTS = frozenset({TokenKind.LINE_COMMENT, TokenKind.BLOCK_COMMENT})
INSIGNIFICANT = COMMENTS | {TokenKind.WHITESPACE}


class Token(NamedTuple):
    """A token and the offset at which it starts. A doc comment is a block comment."""

    kind: TokenKind
    text: str
    start: int


class Segment(NamedTuple):
    """A stretch ``text[start:end]`` of one kind."""

    kind: TokenKind
    start: int
    end: int


_TOKEN = re.compile(
    rf"(?P<whitespace>\s++)|(?P<name>(?!{RAW_STRING_OPEN}){NAME})|(?P<number>{NUMBER})|(?P<symbol>{SYMBOL})",
    re.DOTALL,
)
# Behind a dot Lean reads a name and nothing else: no raw string begins there.
_FIELD = re.compile(f"(?P<name>{NAME})")
_SPECIAL = special_pattern()
_NAME_BEHIND = re.compile(rf"\s++((?!{RAW_STRING_OPEN}){NAME})")
_NO_NAME_BEHIND = re.compile(rf"\s*+(?:[^\s\-/«{NAME_FIRST}]|\Z)")
_NAME_PART = re.compile(ATOM)
_NEEDLESS_QUOTES = re.compile(rf"\A«([{NAME_FIRST}][{NAME_REST}]*+)»\Z")
# A character literal, perhaps, behind a sign that may end in a prime. The prime comes first, so that ``re`` passes
# quickly over other signs.
_BEHIND_SIGN = re.compile(rf"'(?<=[¹∑∏Σ×']'){CHARACTER.removeprefix(chr(39))}", re.DOTALL)
_LONGEST_CHARACTER = len("'\\u0000'")
# The kind of a piece of a run, by its first sign.
_PIECE_KIND = {
    "-": TokenKind.LINE_COMMENT,
    "/": TokenKind.BLOCK_COMMENT,
    '"': TokenKind.STRING,
    "r": TokenKind.STRING,
    "'": TokenKind.CHARACTER,
}
_KIND = {kind.value: kind for kind in TokenKind}


def segments(text: str, watched: frozenset[str] = frozenset()) -> Iterator[Segment]:
    """Yield the segments of ``text``; joined, they are the text.

    Code is one segment from one comment, string, character or watched name to the next. ``watched`` are names that
    begin with an ASCII letter: each is found as a whole token only, neither inside a longer name nor as a field behind
    a dot.
    """
    position = 0
    for kind, start, end in _pieces(text, watched):
        if start > position:
            yield Segment(TokenKind.CODE, position, start)
        yield Segment(kind, start, end)
        position = end
    if position < len(text):
        yield Segment(TokenKind.CODE, position, len(text))


def _pieces(text: str, watched: frozenset[str]) -> Iterator[tuple[TokenKind, int, int]]:
    """Yield (kind, start, end) of the segments that are not code."""
    for kind, start, end in runs(text, watched):
        if kind is TokenKind.COMMENT_RUN or kind is TokenKind.LITERAL_RUN:
            for piece in PIECE.finditer(text, start, end):
                yield _PIECE_KIND[text[piece.start()]], *piece.span()
        elif kind is not TokenKind.QUOTED_NAME:
            yield kind, start, end


def second_reading(text: str) -> str | None:
    """What in live code another Lean would read in another way than :func:`segments`, or None.

    Which words make a string interpolated, and whether a sign with a prime is one sign, depends on what a Lean has
    imported: ``throwError "{`` opens a hole or is a plain string, ``×'('`` is a sign and a bracket or a sign and a
    character. What such a place hides from one reading is live code in the other.
    """
    if not behind_sign(text) and not any(word in text for word in INTERPOLATING):
        return None
    for kind, start, end in segments(text):
        if kind is TokenKind.STRING and text[end - 1] == "{":
            return f"the string {text[start:end][:40]!r}"
        if kind is TokenKind.CODE:
            # The sign stands in the code, and the character may reach beyond it.
            found = _BEHIND_SIGN.search(text, start + 1, min(end + _LONGEST_CHARACTER, len(text)))
            if found and found.start() <= end:
                return f"{text[found.start() - 1 : found.end()]!r}"
    return None


def behind_sign(text: str) -> bool:
    """Whether anywhere in ``text`` a sign that may end in a prime stands before what could be a character literal."""
    return "'" in text and _BEHIND_SIGN.search(text) is not None


def iter_tokens(text: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of ``text`` from offset ``start`` on, reading no further than is asked for.

    ``start`` must be a token boundary outside any interpolated string.
    """
    walker = Walker(text)
    position, behind_dot = start, False
    while position < len(text):
        match = None if walker.holes and text[position] in "{}" else _TOKEN.match(text, position)
        if match is None and behind_dot:
            match = _FIELD.match(text, position)
        behind_dot = match is not None and match[0] == "."
        if match:
            kind, end = _KIND[match.lastgroup], match.end()
            if kind is not TokenKind.WHITESPACE:
                walker.code_end = end
        else:
            kind, end = walker.special(position, _SPECIAL.match(text, position))
        yield Token(kind, text[position:end], position)
        position = end


def tokenize(text: str) -> list[Token]:
    """Return all tokens of ``text``, comments and white space included; ``"".join`` of their texts is ``text``."""
    return list(iter_tokens(text))


def significant(tokens: Iterable[Token]) -> Iterator[Token]:
    """Drop white space and comments."""
    return (token for token in tokens if token.kind not in INSIGNIFICANT)


def name_behind(text: str, offset: int) -> str | None:
    """The next token behind ``offset`` (a token boundary outside any string), if it is a name."""
    if match := _NAME_BEHIND.match(text, offset):
        return match[1]
    if _NO_NAME_BEHIND.match(text, offset):
        return None
    token = next(significant(iter_tokens(text, offset)), None)
    return token.text if token and token.kind is TokenKind.NAME else None


def name_parts(name: str) -> list[str]:
    """The parts of a dotted name; guillemets that a part does not need are dropped: ``«a».b`` is ``a.b``."""
    if "«" not in name:
        return name.split(".")
    return [_NEEDLESS_QUOTES.sub(r"\1", part) for part in _NAME_PART.findall(name)]


def comments(text: str) -> list[Segment]:
    """Return the comments of ``text`` in order."""
    if "--" not in text and "/-" not in text:
        return []
    return [segment for segment in segments(text) if segment.kind in COMMENTS]


def without_comments(text: str) -> str:
    """Return ``text`` with its comments taken out; the line break that ends a line comment stays."""
    return Comments.of(text).removed
