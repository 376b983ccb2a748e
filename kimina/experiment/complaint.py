"""Wording of a user's mistake: what was asked, what exists (nearest first), the line to type."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from kimina.errors import UserError, nearest

PROGRAM = "python run.py"
_SHOWN = 16


def command_line(arguments: Iterable[str]) -> str:
    """Return the command with these arguments as it would be typed in a shell."""
    return " ".join([PROGRAM, *(shlex.quote(argument) for argument in arguments)])


def nearest_first(asked: str, names: Sequence[str]) -> list[str]:
    """Return all ``names``, those that resemble ``asked`` in front, the others in their own order."""
    close = nearest(asked, names, count=3)
    return close + [name for name in names if name not in close]


def replaced(arguments: Sequence[str], old: str, new: str | None) -> list[str]:
    """Return ``arguments`` with ``old`` exchanged for ``new`` (None: left out)."""
    lines = [new if argument == old else argument for argument in arguments]
    return [line for line in lines if line is not None]


def key_of(word: str) -> str:
    """Return the key that an argument sets."""
    return word.lstrip("+").partition("=")[0]


def words_without(words: Sequence[str], key: str) -> list[str]:
    """Return the arguments that don't set ``key``."""
    return [word for word in words if key_of(word) != key]


def words_with(words: Sequence[str], key: str, value: Any) -> list[str]:
    """Return the arguments with ``key`` set to ``value``, behind all others."""
    return [*words_without(words, key), f"{key}={value}"]


def complaint(
    problem: str, *, exists: Sequence[str] = (), exists_label: str = "exists", type_line: Iterable[str] | None = None
) -> UserError:
    """Build the one message of a mistake.

    Args:
        problem: what was asked and what is wrong with it, a sentence.
        exists: what could have been asked, nearest first; long lists are cut.
        exists_label: the word in front of that list.
        type_line: arguments of the command that would work.
    """
    lines = [problem]
    if exists:
        shown = ", ".join(exists[:_SHOWN])
        more = f", and {len(exists) - _SHOWN} more" if len(exists) > _SHOWN else ""
        lines.append(f"  {exists_label}: {shown}{more}")
    if type_line is not None:
        lines.append(f"  type: {command_line(type_line)}")
    return UserError("\n".join(lines))
