"""Goals before an error, read from an info tree."""

import pytest

from kimina.lean.goals import GoalsBefore
from kimina.lean.report import judge_reply
from kimina.lean.verdict import CheckRequest, Verdict


def tactic(start, end, goals, children=()):
    positions = {"start": dict(zip(("line", "column"), start, strict=True)), "finish": dict(zip(("line", "column"), end, strict=True))}
    stx = {"pp": "x", "raw": "x", "range": {"synthetic": False, **positions}}
    node = {"name": "Lean.Parser.Tactic.x", "stx": stx, "goalsBefore": goals, "goalsAfter": []}
    return {"kind": "TacticInfo", "node": node, "children": list(children)}


def other(*children):
    return {"kind": "TermInfo", "node": {"expr": "x", "stx": {}}, "children": list(children)}


TREE = [
    other(
        tactic((2, 2), (5, 9), ["whole"], [
            tactic((3, 2), (3, 12), ["first"]),
            {"kind": "OtherInfo", "node": None, "children": [tactic((4, 2), (5, 9), ["second", "third"], [tactic((5, 4), (5, 9), ["inner"])])]},
        ]),
    ),
    {"goalState": "a hole"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "goals"),
    [
        ((2, 2), ("whole",)),
        ((3, 2), ("first",)),
        ((3, 11), ("first",)),
        ((3, 12), ("whole",)),
        ((4, 6), ("second", "third")),
        ((5, 4), ("inner",)),
        ((5, 9), ()),
        ((1, 0), ()),
    ],
)
def test_the_innermost_tactic_at_a_position_tells(place, goals):
    assert GoalsBefore(TREE).at(*place) == goals


def test_of_tactics_with_one_range_the_outermost_tells():
    same = tactic((1, 0), (1, 4), ["outer"], [tactic((1, 0), (1, 4), ["inner"])])
    assert GoalsBefore([same]).at(1, 2) == ("outer",)


@pytest.mark.parametrize("tree", [None, [], "text", 7, {"node": 3}, [{"node": {"goalsBefore": ["g"], "stx": {"range": {}}}}], [[None]]])
def test_any_tree_is_accepted(tree):
    assert GoalsBefore(tree).at(1, 0) == ()


def test_a_tree_as_deep_as_a_proof_is_long():
    tree = tactic((1, 0), (1, 1), ["goal"])
    for _ in range(100_000):
        tree = other(tree)
    assert GoalsBefore(tree).at(1, 0) == ("goal",)
    while tree["children"]:  # taken apart by hand: Python frees nested objects recursively
        tree = tree["children"].pop()


def test_errors_of_a_reply_get_the_goals_at_their_place_in_the_text_that_was_sent():
    reply = {
        "id": "s", "time": 1.0, "error": None,
        "response": {
            "env": 1,
            "infotree": TREE,
            "messages": [
                {"severity": "error", "pos": {"line": 4, "column": 2}, "endPos": None, "data": "failed"},
                {"severity": "warning", "pos": {"line": 3, "column": 2}, "endPos": None, "data": "unused"},
            ],
        },
    }  # fmt: skip
    request = CheckRequest("r", "theorem t : p := by\n  a\n  b\n  c", "t")
    result = judge_reply(reply, "s", request, first_line=2, query_line=6, lean_version="4")
    assert result.verdict is Verdict.LEAN_ERROR
    assert [(m.line, m.goals) for m in result.messages] == [(3, ("second", "third")), (2, ())]
