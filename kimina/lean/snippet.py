"""The text that Lean gets for one check: our header, the model's text, and our own query behind it.

The header stands on lines of its own before the model's text and the query on a line of its own behind it, so a
position in Lean's answer tells who wrote the line. The model's leading ``import`` commands are blanked out (Lean
accepts imports only at the top of a file, where our header stands); every other character keeps its line and column.
"""

import re
from dataclasses import dataclass

from kimina.lean.tokenizer import Token, TokenKind, iter_tokens, significant

_IMPORT_WORDS = frozenset({"public", "meta", "import", "all"})
_FILE_WORDS = frozenset({"module", "prelude"})
"""Words that belong before imports and mean nothing behind a header."""


@dataclass(frozen=True)
class Import:
    """An ``import`` at the top of the model's text: the module it names and where it stands (line from 1)."""

    module: str
    line: int
    column: int


@dataclass(frozen=True)
class Snippet:
    """A composed text. ``text`` is what Lean reads; ``first_line`` the line (from 1) on which the model's text starts;
    ``query_line`` the line of our own query; ``imports`` what was blanked out."""

    text: str
    first_line: int
    query_line: int
    imports: tuple[Import, ...]


def split_imports(code: str) -> tuple[str, tuple[Import, ...]]:
    """Blank out the imports at the top of ``code``; return the text of equal length and what was found.

    Comments may stand between imports. Reading ends at the first other command, so an ``import`` further down stays and
    gets Lean's own error.
    """
    imports: list[Import] = []
    kept: list[str] = []
    done = 0
    pending: list[Token] = []
    for token in significant(iter_tokens(code)):
        if token.kind is not TokenKind.NAME:
            break
        if token.text in _IMPORT_WORDS:
            pending.append(token)
            continue
        named = any(word.text == "import" for word in pending)
        if not named and (pending or token.text not in _FILE_WORDS):
            break
        start = pending[0].start if pending else token.start
        end = token.start + len(token.text)
        if named:
            line, column = position(code, start)
            imports.append(Import(token.text, line, column))
        kept += [code[done:start], re.sub(r"[^\n]", " ", code[start:end])]
        done = end
        pending = []
    return "".join(kept) + code[done:], tuple(imports)


def compose(header: str, code: str, query: str) -> Snippet:
    """Put ``header``, the model's ``code`` and our ``query`` together, each starting on a line of its own."""
    body, imports = split_imports(code)
    head = header if header.endswith("\n") else header + "\n"
    front = head + body + "\n"
    return Snippet(front + query + "\n", head.count("\n") + 1, front.count("\n") + 1, imports)


def position(code: str, offset: int) -> tuple[int, int]:
    """Line (from 1) and column (from 0) of an offset."""
    return code.count("\n", 0, offset) + 1, offset - (code.rfind("\n", 0, offset) + 1)
