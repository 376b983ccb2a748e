"""The errors that a user can meet, and the exit code of each.

Exit codes of ``run.py``: 0 done, 2 the request was wrong, 3 infrastructure failed, 4 a limit stopped the run.
"""

import difflib
from collections.abc import Iterable


class KiminaError(Exception):
    """An error whose message is meant for the person at the terminal; shown without a traceback."""

    exit_code = 1


class UserError(KiminaError):
    """The request was wrong. The message says what was asked, what exists and what to type."""

    exit_code = 2


class InfrastructureError(KiminaError):
    """Something outside the request failed: a server, a disk, a process. Never turned into a reward."""

    exit_code = 3


class LimitError(KiminaError):
    """A limit that the configuration sets was reached, and the run stopped there."""

    exit_code = 4


def nearest(name: str, choices: Iterable[str], count: int = 3) -> list[str]:
    """Return up to ``count`` of ``choices`` that resemble ``name``, the closest first (case is ignored)."""
    by_folded: dict[str, str] = {}
    for choice in choices:
        by_folded.setdefault(choice.casefold(), choice)
    matches = difflib.get_close_matches(name.casefold(), list(by_folded), n=count, cutoff=0.5)
    return [by_folded[match] for match in matches]
