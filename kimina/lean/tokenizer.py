"""Lean 4 source text as tokens.

Every question about Lean text (share of comments, forbidden words, whether the statement was kept) is asked of the
tokens made here. The tokenizer follows the lexical rules of Lean 4: nested block comments, strings with escapes and
interpolation, raw strings, character literals, quoted names, and the longest match for symbols that end in a sign that
could also start something else (``<-``, ``//``, ``∑'``).

It accepts any text and never fails: what Lean would refuse (an unclosed comment or string) is one token that reaches
to the end. Its time is linear in the length of the text, and the tokens, joined, are the text.

Two granularities share one set of rules. ``segments`` separates code from comments, strings, characters and the few
names that the caller watches for, and costs little; ``iter_tokens`` splits the code further.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


class TokenKind(StrEnum):
    """What a token is. ``CODE`` occurs only in segments: a run of white space, names, numbers and symbols."""

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


# Lean's own character classes (isLetterLike, isSubScriptAlnum, isIdFirst, isIdRest), written as ranges.
_LETTER_LIKE = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f"  # Latin letters with marks, without the signs for times and division
    "\u0391-\u039f\u03a1\u03a2\u03a4-\u03a9\u03b1-\u03ba\u03bc-\u03fb"  # Greek without the symbols Pi, Sigma, lambda
    "\u1f00-\u1ffe"  # polytonic Greek
    "\u2100-\u214f"  # letter-like symbols such as the signs of number sets
    "\U0001d49c-\U0001d59f"  # script, double-struck and fraktur letters
)
_SUBSCRIPT = "\u2080-\u2089\u2090-\u209c\u1d62-\u1d6a\u2c7c"
NAME_FIRST = f"A-Za-z_{_LETTER_LIKE}"
NAME_REST = f"{NAME_FIRST}0-9'!?{_SUBSCRIPT}"

_QUOTED = "«[^»]*+»"
_ATOM = f"(?:[{NAME_FIRST}][{NAME_REST}]*+|{_QUOTED})"
_NAME = rf"{_ATOM}(?:\.{_ATOM})*+"
_NUMBER = (
    r"(?:0[xX][0-9a-fA-F_]++|0[bB][01_]++|0[oO][0-7_]++"
    r"|[0-9][0-9_]*+(?:\.[0-9][0-9_]*+)?+(?:[eE][+-]?[0-9]++)?+)"
)
_CHARACTER = r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'])'"
_RAW_STRING_OPEN = r'r#*+"'
# Symbols of several characters. Those that end in - / or ' decide whether a comment or a character starts there.
_LONG_SYMBOLS = (
    "<;>", "<|>", "...", "|||", "&&&", "^^^", "<<<", ">>>", ">>=", "<$>", "<*>", "⁻¹'", ":=", "=>", "->", "<-", "<|",
    "|>", "//", "\\/", "/\\", "||", "&&", "∃!", "∑'", "∏'", "Σ'", "×'", "''", "..", "::", "++", "<=", ">=", "!=", "==",
)  # fmt: skip
_LONG_SYMBOL = "|".join(re.escape(symbol) for symbol in _LONG_SYMBOLS)
_STOP = rf"--|/-|\"|{_RAW_STRING_OPEN}|{_CHARACTER}|«"
_SYMBOL = rf"(?:{_LONG_SYMBOL}|(?!{_STOP})[^\s{NAME_FIRST}0-9])"
_TOKEN = re.compile(
    rf"(?P<whitespace>\s++)|(?P<name>(?!{_RAW_STRING_OPEN}){_NAME})|(?P<number>{_NUMBER})|(?P<symbol>{_SYMBOL})",
    re.DOTALL,
)
_SPECIAL = (
    rf"(?P<line>--[^\n]*+)|(?P<block>/-)|(?P<raw>{_RAW_STRING_OPEN})|(?P<string>\")|(?P<character>{_CHARACTER})"
)
_NAME_BEHIND = re.compile(rf"\s++((?!{_RAW_STRING_OPEN}){_NAME})")
_NAME_PART = re.compile(_ATOM)
_NEEDLESS_QUOTES = re.compile(rf"\A«([{NAME_FIRST}][{NAME_REST}]*+)»\Z")
_COMMENT_EDGE = re.compile(r"/-|-/")
_STRING_BODY = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)
_INTERPOLATED_BODY = re.compile(r'(?:[^"\\{]++|\\.)*+', re.DOTALL)
# A sign that may end in a prime, where what follows the sign could be a character literal.
_PRIMED = re.compile(rf"[¹∑∏Σ×']{_CHARACTER}", re.DOTALL)
_LONGEST_CHARACTER = len("'\\u0000'")
_KIND = {kind.value: kind for kind in TokenKind}

# A string right behind one of these is interpolated: what stands between its braces is code.
_INTERPOLATING = frozenset(
    {"s!", "m!", "f!", "println!", "eprintln!", "throwError", "dbg_trace", "logInfo!", "panic!", "throwErrorAt"}
)
_REST_CHARACTER = re.compile(f"[{NAME_REST}]")
_LEADING_NUMBER = re.compile(_NUMBER)
_LONGEST_INTERPOLATING = max(map(len, _INTERPOLATING))


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
    start = code_end
    # A name that is longer than any of these words is none of them, so that looking a bit further back is enough.
    while start > 0 and code_end - start <= _LONGEST_INTERPOLATING and _REST_CHARACTER.match(text, start - 1):
        start -= 1
    if start > 0 and text[start - 1] == ".":
        return False
    number = _LEADING_NUMBER.match(text, start, code_end)
    return text[number.end() if number else start : code_end] in _INTERPOLATING


@lru_cache(maxsize=64)
def _rules(watched: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns for a run of code outside and inside a hole of an interpolated string, and for what ends it."""
    word = _any_of(watched)
    plain = rf"\s++|(?!{_RAW_STRING_OPEN}|{word}){_NAME}|{_NUMBER}|\.{_ATOM}|{_SYMBOL}"
    return (
        re.compile(f"(?:{plain})++", re.DOTALL),
        re.compile(f"(?:(?![{{}}])(?:{plain}))++", re.DOTALL),
        re.compile(f"{_SPECIAL}|(?P<word>{word})", re.DOTALL),
    )


def _any_of(words: frozenset[str]) -> str:
    """A pattern for any of these names as a whole token."""
    by_first: dict[str, list[str]] = {}
    for word in sorted(words, key=lambda word: (-len(word), word)):
        by_first.setdefault(word[0], []).append(re.escape(word[1:]))
    alternatives = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in sorted(by_first.items()))
    return rf"(?:{alternatives})(?![{NAME_REST}]|\.[«{NAME_FIRST}])" if words else "(?!)"


class _Walker:
    """Walks over a text; keeps what the next piece depends on.

    ``holes`` holds, for each interpolated string that is open, the number of open braces inside its current hole;
    ``code`` the stretches of code since the last string or character.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.holes: list[int] = []
        self.code: list[tuple[int, int]] = []

    def special(self, start: int, match: re.Match[str] | None) -> tuple[TokenKind, int]:
        """The kind and the end of the piece at ``start`` that is not plain code."""
        text = self.text
        group = match.lastgroup if match else None
        if group == "line":
            return TokenKind.LINE_COMMENT, match.end()
        if group == "block":
            return TokenKind.BLOCK_COMMENT, _block_comment_end(text, start)
        if group == "word":
            self.code.append((start, match.end()))
            return TokenKind.NAME, match.end()
        interpolated = group == "string" and self._follows_interpolating()
        self.code.clear()
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

    def _follows_interpolating(self) -> bool:
        """Whether the code before this string makes it an interpolated one."""
        for start, end in reversed(self.code):
            while end > start and self.text[end - 1].isspace():
                end -= 1
            if end > start:
                return _interpolates(self.text, end)
        return False

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
        self.code.append((start, start + 1))
        return TokenKind.SYMBOL, start + 1


def segments(text: str, watched: frozenset[str] = frozenset()) -> Iterator[Segment]:
    """Yield the segments of ``text``; joined, they are the text.

    Code is one segment from one comment, string, character or watched name to the next. ``watched`` are names: each
    is found as a whole token only, neither inside a longer name nor as a field behind a dot.
    """
    walker = _Walker(text)
    run, run_in_hole, special = _rules(watched)
    position = 0
    while position < len(text):
        match = (run_in_hole if walker.holes else run).match(text, position)
        if match:
            kind, end = TokenKind.CODE, match.end()
            walker.code.append((position, end))
        else:
            kind, end = walker.special(position, special.match(text, position))
        yield Segment(kind, position, end)
        position = end


def second_reading(text: str) -> str | None:
    """What in live code another Lean would read in another way than :func:`segments`, or None.

    Which words make a string interpolated, and whether a sign with a prime is one sign, depends on what a Lean has
    imported: ``throwError "{`` opens a hole or is a plain string, ``×'('`` is a sign and a bracket or a sign and a
    character. What such a place hides from one reading is live code in the other.
    """
    if not any(word in text for word in _INTERPOLATING) and not _PRIMED.search(text):
        return None
    for kind, start, end in segments(text):
        if kind is TokenKind.STRING and text[end - 1] == "{":
            return f"the string {text[start:end][:40]!r}"
        if kind is TokenKind.CODE:
            # The sign stands in the code, and the character may reach beyond it.
            found = _PRIMED.search(text, start, min(end + _LONGEST_CHARACTER, len(text)))
            if found and found.start() < end:
                return f"{found[0]!r}"
    return None


def iter_tokens(text: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of ``text`` from offset ``start`` on, reading no further than is asked for.

    ``start`` must be a token boundary outside any interpolated string.
    """
    walker = _Walker(text)
    special = _rules(frozenset())[2]
    position = start
    while position < len(text):
        match = None if walker.holes and text[position] in "{}" else _TOKEN.match(text, position)
        if match:
            kind, end = _KIND[match.lastgroup], match.end()
            if kind is not TokenKind.WHITESPACE:
                walker.code = [(position, end)]
        else:
            kind, end = walker.special(position, special.match(text, position))
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


def without_comments(text: str, found: Iterable[Segment] | None = None) -> str:
    """Return ``text`` with its comments taken out; the line break that ends a line comment stays.

    ``found`` are the comments of the text, if they are known.
    """
    pieces, position = [], 0
    for comment in comments(text) if found is None else found:
        pieces.append(text[position : comment.start])
        position = comment.end
    pieces.append(text[position:])
    return "".join(pieces)

