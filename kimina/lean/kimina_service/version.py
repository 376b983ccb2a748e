"""Which Lean a server runs: a question in the form of a snippet, since the server has no endpoint that tells."""

import re
from collections.abc import Mapping
from typing import Any

QUESTION = "#version\n#eval Lean.versionString\n"
"""Two ways to ask, whichever this Lean knows; the second one needs Lean's own library, which Mathlib imports."""
_ANSWER = re.compile(r'(?:\bLean\b[^\d\n]{0,20}|^")v?(\d+\.\d+\.\d+(?:-[\w.]+)?)')


def read_version(reply: Mapping[str, Any] | None) -> str | None:
    """The version (such as ``4.15.0`` or ``4.9.0-rc1``) in the reply to ``QUESTION``; ``None`` when it tells none."""
    response = (reply or {}).get("response") or {}
    for message in response.get("messages") or []:
        if message["severity"] == "info" and (found := _ANSWER.search(message["data"])):
            return found[1]
    return None


class Agreement:
    """The one version that all servers must run. ``wanted`` is the configuration's, ``None`` where it names none.

    ``version``, as the servers tell it or else as the configuration says, may be read from any thread.
    """

    def __init__(self, wanted: str | None) -> None:
        self._wanted = None if wanted is None else wanted.removeprefix("v")
        self._found: dict[str, str] = {}
        self.version = self._wanted

    def add(self, url: str, version: str) -> str | None:
        """Note what ``url`` runs; return the objection, if there is one."""
        agreed, first = self.version, next(iter(self._found), None)
        if version == agreed:
            self._found[url] = version
            return None
        if agreed is None:
            self._found[url] = self.version = version
            return None
        if first is None or self._wanted is not None:
            return (
                f"verifier.lean_version={agreed}, but the Kimina Lean server at {url} runs Lean {version}; nothing was judged"
                f" with it.\n  type: verifier.lean_version={version}, or other verifier.urls"
            )
        if first == url:
            return (
                f"the Kimina Lean server at {url} ran Lean {agreed} and now runs Lean {version}; verdicts of one run must come"
                " from one Lean.\n  type: the same command again, once the server is as you want it"
            )
        return (
            f"the Kimina Lean servers run different versions: {first} Lean {agreed}, {url} Lean {version}; verdicts of one run"
            f" must come from one Lean.\n  type: verifier.urls='[\"{first}\"]', or verifier.urls='[\"{url}\"]'"
        )
