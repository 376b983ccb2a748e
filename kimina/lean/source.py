"""A Lean file seen as commands: which declarations it makes, under which full names, in which scopes.

This is no parser of Lean. It follows the few commands that decide what a name means: ``namespace``, ``section``,
``mutual`` and ``end``, the declarations, and the commands that change the meaning of declarations behind them.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from kimina.lean.tokenizer import (
    Segment,
    Token,
    TokenKind,
    iter_tokens,
    name_behind,
    name_parts,
    segments,
    significant,
)
from kimina.lean.words import COMMAND_STARTS, COMMANDS, SCOPES, WATCHED

_OPENERS, _CLOSERS = ("(", "[", "{", "⟨"), (")", "]", "}", "⟩")
_BRACKET = re.compile(r"[()\[\]{}⟨⟩]")
_LONG_STRETCH = re.compile(r"([^\x00-\x7f]{200,}+)")
_QUOTED_NAME = re.compile("«[^»]*+»")


@dataclass(frozen=True, eq=False)
class Scope:
    """An open scope.

    ``component`` is a namespace's name part, None for a section; ``namespaces`` is the innermost scope, from this one
    outwards, that is a namespace.
    """

    parent: "Scope | None"
    component: str | None
    namespaces: "Scope | None" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        inherited = self.parent.namespaces if self.parent else None
        object.__setattr__(self, "namespaces", self if self.component is not None else inherited)

    def outward(self) -> Iterator["Scope"]:
        """Yield this scope and those around it."""
        scope: Scope | None = self
        while scope:
            yield scope
            scope = scope.parent


@dataclass(frozen=True)
class Command:
    """A command word, its offset, the innermost scope that is open there, and the number of open brackets.

    With ``depth`` above 0 the word is quoted code, not a command of this file.
    """

    word: str
    start: int
    scope: Scope | None
    depth: int

    def namespace_parts(self) -> Iterator[str]:
        """Yield the parts of the current namespace, the innermost first."""
        scope = self.scope.namespaces if self.scope else None
        while scope:
            yield scope.component
            scope = scope.parent.namespaces if scope.parent else None


class LeanSource:
    """A Lean file. ``text`` is in NFC, so that equal signs are equal tokens."""

    def __init__(self, text: str) -> None:
        self.text = normalized(text)
        self._written_names: dict[int, str | None] = {}

    @cached_property
    def segments(self) -> list[Segment]:
        """Comments, strings, characters, the words of ``WATCHED``, and the code between them, in order."""
        return list(segments(self.text, WATCHED))

    @cached_property
    def commands(self) -> list[Command]:
        """The command words of the file, in order."""
        return list(_commands(self))

    def words(self) -> Iterator[tuple[str, int]]:
        """Yield (word, offset) for the live names that are in ``WATCHED``."""
        for kind, start, end in self.segments:
            if kind is TokenKind.NAME:
                yield self.text[start:end], start

    def quoted_names(self) -> Iterator[Token]:
        """Yield the live names that have a part in guillemets."""
        for kind, start, end in self.segments:
            if kind is TokenKind.CODE and self.text.find("«", start, end) >= 0:
                for token in iter_tokens(self.text[start:end]):
                    if token.kind is TokenKind.NAME and "«" in token.text:
                        yield Token(token.kind, token.text, token.start + start)

    def tokens_from(self, offset: int) -> Iterator[Token]:
        """Yield the significant tokens from ``offset`` on, a token boundary outside any interpolated string."""
        return significant(iter_tokens(self.text, offset))

    def written_name(self, command: Command) -> str | None:
        """The name behind a declaration's word, without the namespace around it; None for one without a name."""
        if command.start not in self._written_names:
            self._written_names[command.start] = _written_name(self.text, command)
        return self._written_names[command.start]

    def declares(self, command: Command, full_name: str) -> bool:
        """Whether a declaration declares ``full_name``, the current namespace counted in."""
        written = self.written_name(command)
        if written is None:
            return False
        if written.startswith("_root_."):
            return written.removeprefix("_root_.") == full_name
        if not full_name.endswith(written):
            return False
        rest = full_name.removesuffix(written)
        for part in command.namespace_parts():
            if not rest.endswith(f"{part}."):
                return False
            rest = rest.removesuffix(f"{part}.")
        return rest == ""

    def full_name(self, command: Command) -> str | None:
        """The full name that a declaration declares, or None; takes time linear in the depth of its namespaces."""
        written = self.written_name(command)
        if written is None:
            return None
        if written.startswith("_root_."):
            return written.removeprefix("_root_.")
        return ".".join([*reversed(list(command.namespace_parts())), written])


def normalized(text: str) -> str:
    """``text`` in NFC, except for long stretches without any ASCII character, which stay as they are.

    Normalization sorts runs of combining marks in quadratic time. No Lean code is such a stretch.
    """
    if text.isascii():
        return text
    if not _LONG_STRETCH.search(text):
        return unicodedata.normalize("NFC", text)
    # Every second piece is a long stretch.
    pieces = _LONG_STRETCH.split(text)
    pieces[::2] = (unicodedata.normalize("NFC", piece) for piece in pieces[::2])
    return "".join(pieces)


def _written_name(text: str, command: Command) -> str | None:
    behind = command.start + len(command.word)
    name = name_behind(text, behind)
    if command.word == "class" and name == "inductive":
        tokens = significant(iter_tokens(text, behind))
        next(tokens)
        token = next(tokens, None)
        name = token.text if token and token.kind is TokenKind.NAME else None
    return None if name is None or name in COMMAND_STARTS else ".".join(name_parts(name))


def _bracket_balance(text: str, start: int, end: int) -> int:
    """Opening minus closing brackets of ``text[start:end]``, which must be code."""
    if text.find("«", start, end) >= 0:
        text = _QUOTED_NAME.sub("", text[start:end])
        start, end = 0, len(text)
    if end - start < 100:
        found = _BRACKET.findall(text, start, end)
        return sum(1 if bracket in _OPENERS else -1 for bracket in found) if found else 0
    opened = sum(text.count(bracket, start, end) for bracket in _OPENERS)
    return opened - sum(text.count(bracket, start, end) for bracket in _CLOSERS)


def depth_behind(token: Token, depth: int) -> int:
    """The bracket depth behind a token, given the one before it."""
    if token.kind is TokenKind.SYMBOL and token.text in _OPENERS:
        return depth + 1
    if token.kind is TokenKind.SYMBOL and token.text in _CLOSERS:
        return max(0, depth - 1)
    return depth


def command_tokens(source: LeanSource, command: Command) -> Iterator[Token]:
    """Yield the significant tokens of a command, from its word up to the next command or attribute."""
    depth = 0
    held: Token | None = None  # an @ belongs to the next command if [ follows
    for token in source.tokens_from(command.start):
        if held is not None:
            if token.text == "[":
                return
            yield held
            held = None
        if depth == 0 and token.start > command.start and token.kind is TokenKind.NAME and token.text in COMMAND_STARTS:
            return
        if depth == 0 and token.text == "@":
            held = token
            continue
        depth = depth_behind(token, depth)
        yield token


def _commands(source: LeanSource) -> Iterator[Command]:
    text = source.text
    depth = 0
    scope: Scope | None = None
    for kind, start, end in source.segments:
        if kind is TokenKind.CODE or kind is TokenKind.SYMBOL:
            depth = max(0, depth + _bracket_balance(text, start, end))
        elif kind is TokenKind.NAME and (word := text[start:end]) in COMMANDS:
            yield Command(word, start, scope, depth)
            if depth == 0:
                scope = _scope_behind(source, word, start, scope)


def _scope_behind(source: LeanSource, word: str, start: int, scope: Scope | None) -> Scope | None:
    """The innermost open scope behind a command."""
    if word == "mutual":
        return Scope(scope, None)
    if word not in SCOPES and word != "end":
        return scope
    name = name_behind(source.text, start + len(word))
    # A namespace has a name in any case. Behind the others a command word may as well begin the next command.
    parts = name_parts(name) if name and (word == "namespace" or name not in COMMAND_STARTS) else []
    if word == "end":
        for _ in parts or [""]:
            scope = scope.parent if scope else None
        return scope
    if word == "section":
        for _ in parts or [""]:
            scope = Scope(scope, None)
    else:
        for part in parts:
            scope = Scope(scope, part)
    return scope
