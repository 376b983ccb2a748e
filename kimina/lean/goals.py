"""Goals out of an info tree: what Lean had to prove where a tactic stood.

The tree is the JSON of Lean's REPL, which a Kimina server passes on when it is asked for: a list of nodes
``{"kind", "node": {"stx": {"range": {"start", "finish"}}, "goalsBefore", ...} | null, "children"}``, nested as the
syntax is; positions are Lean's, in the text that was sent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Position = tuple[int, int]


class GoalsBefore:
    """Answers which goals stood before the tactic at a position. Any tree is accepted; broken nodes hold nothing."""

    def __init__(self, tree: Any) -> None:
        self._tactics: list[tuple[Position, Position, tuple[str, ...]]] = []
        pending = [tree]
        # A loop and not a recursion: a tree is as deep as the proof is nested.
        while pending:
            part = pending.pop()
            if isinstance(part, Sequence) and not isinstance(part, str):
                pending.extend(reversed(part))
            elif isinstance(part, Mapping):
                self._read(part.get("node"))
                pending.append(part.get("children") or ())

    def at(self, line: int, column: int) -> tuple[str, ...]:
        """Return the goals before the innermost tactic that covers a position (line from 1, column from 0)."""
        covering = [
            (start, tuple(-part for part in end), goals)
            for start, end, goals in self._tactics
            if start <= (line, column) and ((line, column) < end or start == (line, column))
        ]
        # The latest start, then the earliest end; of equal ranges the first, which stands outside the others.
        return max(covering, key=lambda found: found[:2], default=(None, None, ()))[2]

    def _read(self, node: Any) -> None:
        if not isinstance(node, Mapping) or not isinstance(node.get("goalsBefore"), Sequence):
            return
        try:
            found = node["stx"]["range"]
            start, end = ((int(found[side]["line"]), int(found[side]["column"])) for side in ("start", "finish"))
        except (KeyError, TypeError, ValueError):
            return
        self._tactics.append((start, end, tuple(str(goal) for goal in node["goalsBefore"])))
