"""Goals out of Lean's own info trees: what had to be proved where a tactic or a ``sorry`` stands.

While it elaborates, Lean notes in trees which piece of syntax was elaborated in which state. Here the trees are read as
they lie in memory and given back in the shape that Lean's REPL prints (see ``kimina.lean.goals`` for its reader); the
goals are printed by Lean itself. Positions are lines from 1 and columns from 0 in code points.

Facts used (Lean 4.35): ``InfoTree`` is a context (tag 0), a node (1) or a hole (2); of ``Info`` tag 0 is a tactic and
tag 1 a term, both starting with ``ElabInfo`` (elaborator, syntax); ``ContextInfo`` starts with ``CommandContextInfo``,
whose field 3 is the metavariable context.
"""

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from kimina.lean.embedded.objects import Lean, box, field, fields, is_boxed, items, read_name, read_string, share, tag

_WORD = ctypes.c_void_p
_FLAG = ctypes.c_uint8
_CONTEXT, _NODE = 0, 1
_TACTIC, _TERM = 0, 1
_METAVARIABLES = 3
"""Position in ``CommandContextInfo``."""
_SYNTAX_NODE = 1
_OPAQUE = 2
"""``MetavarKind.syntheticOpaque``."""
_WIDTH = 120
"""Characters a line of a printed goal, Lean's default."""
_DEPTH = 100
"""Levels of tactics within tactics that are kept."""


class InfoTreeReader:
    """Reads the trees of one elaborated text. To be used where Lean is: in the thread that elaborated it."""

    def __init__(self, lean: Lean, source: str) -> None:
        self._lean = lean
        # Lean counts in a text whose line ends it has made uniform.
        source = source.replace("\r\n", "\n")
        self._position = _positions(source)
        self._source = source.encode("utf-8")
        self._list_trees = lean.function("l_Lean_PersistentArray_toArray___redArg", _WORD)
        self._merge = lean.function("l_Lean_Elab_PartialContextInfo_mergeIntoOuter_x3f", _WORD, _WORD)
        self._print_goals = lean.function("l_Lean_Elab_ContextInfo_ppGoals", _WORD, _WORD)
        self._lay_out = lean.function("l_Std_Format_pretty", _WORD, _WORD, _WORD, _WORD)
        self._start = lean.function("l_Lean_Syntax_getPos_x3f", _WORD, _FLAG)
        self._end = lean.function("l_Lean_Syntax_getTailPos_x3f", _WORD, _FLAG)
        self._declare = lean.function("l_Lean_MetavarContext_addExprMVarDeclExp", _WORD, _WORD, _WORD, _WORD, _WORD, _WORD, _FLAG)
        self._printed: dict[tuple[int, int], str] = {}

    def tactics(self, trees: Iterable[int]) -> list[dict[str, Any]]:
        """The tactic nodes of ``trees`` (persistent arrays), nested as in the tree: what the REPL gives for
        ``infotree: tactics``, without raw syntax. Below ``_DEPTH`` levels they are no longer nested."""
        found: list[dict[str, Any]] = []
        # Trees with the list that takes their nodes and its depth. A loop and not a recursion: a tree is as deep as
        # the proof is nested, and the depth of what is returned is bounded for those who encode and decode it.
        pending = [(tree, box(0), found, 0) for tree in self._roots(trees)]
        while pending:
            tree, context, taken, depth = pending.pop()
            if (node := self._node(tree, context)) is None:
                continue
            context, info, children = node
            if tag(info) == _TACTIC and not is_boxed(context):
                inner: list[dict[str, Any]] = []
                made = {"kind": "TacticInfo", "node": self._tactic(field(context, 0), field(info, 0))}
                taken.append(made | {"children": inner})
                if depth < _DEPTH:
                    taken, depth = inner, depth + 1
            pending += [(child, context, taken, depth) for child in reversed(children)]
        return found

    def sorries(self, trees: Iterable[int]) -> list[dict[str, Any]]:
        """Every ``sorry`` that stands in the text, as tactic or as term, with its place and the goal that it closes."""
        found: list[dict[str, Any]] = []
        pending = [(tree, box(0)) for tree in self._roots(trees)]
        while pending:
            if (node := self._node(*pending.pop())) is None:
                continue
            context, info, children = node
            goals: list[str] = []
            if tag(info) in (_TACTIC, _TERM) and not is_boxed(context):
                content = field(info, 0)
                syntax = _syntax(content)
                match tag(info), _kind(syntax):
                    case 0, "Lean.Parser.Tactic.tacticSorry":
                        goals = self._goals(field(context, 0), field(content, 1), field(content, 2))[:1]
                        # This tactic is a macro, and its expansion holds the term.
                        children = []
                    case 1, "Lean.Parser.Term.sorry" if not is_boxed(field(content, 2)):
                        goals = [self._term_goal(field(context, 0), content)]
                for goal in goals:
                    place = self._range(syntax)
                    found.append({"pos": place["start"], "endPos": place["finish"], "goal": goal})
            pending += [(child, context) for child in reversed(children)]
        return found

    def _node(self, tree: int, context: int) -> tuple[int, int, list[int]] | None:
        """The node at ``tree``: its context (an ``Option``), its info and its children; ``None`` for a hole."""
        while tag(tree) == _CONTEXT:
            tree, context = field(tree, 1), self._merge(share(field(tree, 0)), share(context))
        return (context, field(tree, 0), self._children(field(tree, 1))) if tag(tree) == _NODE else None

    def _roots(self, trees: Iterable[int]) -> list[int]:
        return [tree for array in reversed(list(trees)) for tree in reversed(self._children(array))]

    def _children(self, array: int) -> list[int]:
        return items(self._list_trees(share(array)))

    def _tactic(self, context: int, tactic: int) -> dict[str, Any]:
        syntax = _syntax(tactic)
        start, end = self._extent(syntax)
        return {
            "name": _kind(syntax),
            "stx": {"pp": self._source[start:end].decode("utf-8", "replace"), "range": self._range(syntax)},
            "goalsBefore": self._goals(context, field(tactic, 1), field(tactic, 2)),
            "goalsAfter": self._goals(context, field(tactic, 3), field(tactic, 4)),
        }

    def _goals(self, context: int, metavariables: int, goals: int) -> list[str]:
        found = []
        while not is_boxed(goals):
            found.append(self._goal(context, metavariables, field(goals, 0)))
            goals = field(goals, 1)
        return found

    def _term_goal(self, context: int, term: int) -> str:
        """The goal of a term: its expected type, in its local context, as a metavariable of our own."""
        name = self._lean.name(["_sorry"])
        local_context, expected = field(term, 1), field(field(term, 2), 0)
        metavariables = self._declare(
            share(field(field(context, 0), _METAVARIABLES)), share(name), box(0), share(local_context),
            self._lean.array([]), share(expected), _OPAQUE,
        )  # fmt: skip
        return self._goal(context, metavariables, name)

    def _goal(self, context: int, metavariables: int, goal: int) -> str:
        # Tactics that stand in each other share their states, and one goal is printed once.
        key = (metavariables, goal)
        if key not in self._printed:
            inner = fields(field(context, 0))
            inner[_METAVARIABLES] = metavariables
            outer = [self._lean.constructor(0, *map(share, inner)), *map(share, fields(context)[1:])]
            outcome = self._print_goals(self._lean.constructor(0, *outer), self._lean.list([share(goal)]))
            printed = "" if tag(outcome) else read_string(
                self._lay_out(share(field(outcome, 0)), box(_WIDTH), box(0), box(0))
            )  # fmt: skip
            self._printed[key] = printed.strip()
        return self._printed[key]

    def _range(self, syntax: int) -> dict[str, Any]:
        start, end = self._extent(syntax)
        return {"start": self._position(start), "finish": self._position(end)}

    def _extent(self, syntax: int) -> tuple[int, int]:
        """Offsets of a piece of syntax in bytes; what has no place stands at the start, as in the REPL."""
        start, end = (found(share(syntax), 0) for found in (self._start, self._end))
        first = 0 if is_boxed(start) else field(start, 0) >> 1
        return first, first if is_boxed(end) else field(end, 0) >> 1


def _syntax(info: int) -> int:
    return field(field(info, 0), 1)


def _kind(syntax: int) -> str | None:
    return read_name(field(syntax, 1)) if not is_boxed(syntax) and tag(syntax) == _SYNTAX_NODE else None


def _positions(source: str) -> Callable[[int], dict[str, int]]:
    """A function from an offset in UTF-8 bytes to line and column, with Lean's line breaks."""
    lines = source.split("\n")
    starts = [0, *accumulate(len(line.encode("utf-8")) + 1 for line in lines)]

    def position(offset: int) -> dict[str, int]:
        line = min(bisect_right(starts, offset), len(lines))
        before = lines[line - 1].encode("utf-8")[: offset - starts[line - 1]]
        return {"line": line, "column": len(before.decode("utf-8", "ignore"))}

    return position
