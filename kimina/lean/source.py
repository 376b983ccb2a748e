"""A Lean file seen as commands: which declarations it makes, under which full names, in which scopes.

This is no parser of Lean. It follows the few commands that decide what a name means: ``namespace``, ``section``,
``mutual`` and ``end``, the declarations, and the commands that change the meaning of declarations behind them.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from kimina.lean.comments import Comments
from kimina.lean.runs import runs
from kimina.lean.tokenizer import (
    Token,
    TokenKind,
    behind_sign,
    iter_tokens,
    name_behind,
    name_parts,
    second_reading,
    significant,
)
from kimina.lean.words import COMMAND_STARTS, COMMANDS, SCOPES, WATCHED

_OPENERS, _CLOSERS = ("(", "[", "{", "⟨"), (")", "]", "}", "⟩")
_BRACKETS = frozenset(_OPENERS + _CLOSERS)
# The words themselves, so that no file makes copies of them.
_COMMAND_WORD = {word: word for word in COMMANDS}
_SCOPE_WORDS = SCOPES | {"end"}
_BRACKET = re.compile(r"[()\[\]{}⟨⟩]")
# The first sign stands alone, so that ``re`` passes quickly over those that are none.
_LONG_STRETCH = re.compile(r"([^\x00-\x7f][^\x00-\x7f]{199,}+)")
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


class Command(NamedTuple):
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


# A named tuple's own constructor takes several times as long.
_as_command = partial(tuple.__new__, Command)


class Commands(Sequence[Command]):
    """The command words of a file, in order.

    They are made when asked for: a file can be nothing but command words, and keeping millions of objects costs more
    than making them, and the more, the more there are.
    """

    def __init__(self) -> None:
        self._words: list[str] = []
        self._starts = array("q")
        self._scopes: list[Scope | None] = []
        self._depths = array("q")

    def add(self, word: str, start: int, scope: Scope | None, depth: int) -> None:
        self._words.append(word)
        self._starts.append(start)
        self._scopes.append(scope)
        self._depths.append(depth)

    def begin_with(self, command: Command) -> bool:
        """Whether this one of the commands is the first."""
        return self._starts[0] == command.start

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, index: int) -> Command:
        return Command(self._words[index], self._starts[index], self._scopes[index], self._depths[index])

    def __iter__(self) -> Iterator[Command]:
        return map(_as_command, zip(self._words, self._starts, self._scopes, self._depths, strict=True))


class LeanSource:
    """A Lean file. ``text`` is in NFC, so that equal signs are equal tokens.

    One walk over the file, when first something is asked, finds all that is kept of it. Offsets stand in arrays, because
    a file can be nothing but comments or watched words.
    """

    def __init__(self, text: str) -> None:
        self.text = normalized(text)
        self._written_names: dict[int, str | None] = {}
        self._commands: Commands | None = None
        self._comments: Comments | None = None
        self._words = array("q")  # start and end of each
        self._quoted_words = array("q")
        self._has_hole = False  # whether a string seems to be interpolated

    @property
    def commands(self) -> Commands:
        """The command words of the file, in order."""
        if self._commands is None:
            self._commands = self._read()
        return self._commands

    @property
    def comments(self) -> Comments | None:
        """The comments of the file, None if it has none."""
        if self._commands is None:
            self._commands = self._read()
        return self._comments

    def words(self) -> Iterator[tuple[str, int]]:
        """Yield (word, offset) for the live names that are in ``WATCHED``."""
        if self._commands is None:
            self._commands = self._read()
        text, edges = self.text, iter(self._words)
        return ((text[start:end], start) for start, end in zip(edges, edges, strict=True))

    def quoted_words(self) -> Iterator[tuple[str, int]]:
        """Yield (word, offset) for the live names that are in ``WATCHED`` once their guillemets are taken off."""
        if self._commands is None:
            self._commands = self._read()
        text, edges = self.text, iter(self._quoted_words)
        return ((_unquoted(text[start:end]), start) for start, end in zip(edges, edges, strict=True))

    def _read(self) -> Commands:
        text, words, commands = self.text, self._words, Commands()
        # Stretches of code since the last command, as starts and ends; their brackets matter to the next one only.
        code = array("q")
        depth = position = 0
        scope: Scope | None = None
        for kind, start, end in runs(text, WATCHED):
            if kind is TokenKind.QUOTED_NAME:
                if _unquoted(text[start:end]) in WATCHED:
                    self._quoted_words.append(start)
                    self._quoted_words.append(end)
                continue
            # Most single signs between two words are blanks.
            if start > position + 1 or (start > position and text[position] in _BRACKETS):
                code.append(position)
                code.append(start)
            position = end
            if kind is TokenKind.NAME:
                words.append(start)
                words.append(end)
                word = _COMMAND_WORD.get(text[start:end])
                if word is not None:
                    if code:
                        depth = _depth_behind(text, code, depth)
                        del code[:]
                    commands.add(word, start, scope, depth)
                    if depth == 0 and word in _SCOPE_WORDS:
                        scope = _scope_behind(text, word, start, scope)
            elif kind is TokenKind.SYMBOL:
                code.append(start)
                code.append(end)
            elif kind is TokenKind.STRING:
                self._has_hole = self._has_hole or text[end - 1] == "{"
            else:
                if self._comments is None:
                    self._comments = Comments(text)
                self._comments.add(kind, start, end)
        return commands

    def second_reading(self) -> str | None:
        """What in live code another Lean would read in another way, or None; see ``tokenizer.second_reading``."""
        if self._commands is None:
            self._commands = self._read()
        # The walk has seen almost all that it takes, and hardly any file has any of it.
        text = self.text
        return second_reading(text) if self._has_hole or text.endswith("{") or behind_sign(text) else None

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
        if command.scope is None:
            return written == full_name
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
    # Such a stretch takes in one sign of every two hundred.
    if text[199::200].isascii() or not _LONG_STRETCH.search(text):
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
    if name is None or name in COMMAND_STARTS:
        return None
    return ".".join(name_parts(name)) if "«" in name else name


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


def _depth_behind(text: str, code: "array[int]", depth: int) -> int:
    """The bracket depth behind stretches of code, given as starts and ends, with the one before them."""
    edges = iter(code)
    for start, end in zip(edges, edges, strict=True):
        depth = max(0, depth + _bracket_balance(text, start, end))
    return depth


def _unquoted(name: str) -> str:
    return name.replace("«", "").replace("»", "")


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


def _scope_behind(text: str, word: str, start: int, scope: Scope | None) -> Scope | None:
    """The innermost open scope behind one of ``_SCOPE_WORDS``."""
    if word == "mutual":
        return Scope(scope, None)
    if word == "end" and scope is None:
        return None
    name = name_behind(text, start + len(word))
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
