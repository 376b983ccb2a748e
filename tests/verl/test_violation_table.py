"""Examples of violations out of a validation."""

import json

from kimina.verl.violation_table import COLUMNS, violation_examples


def infos(*violations):
    measure = {"value": 7, "threshold": 5, "violated": True, "detail": None}
    return {
        "violations": [None if codes is None else json.dumps(codes) for codes in violations],
        "measures": [None if codes is None else json.dumps({code: measure for code in codes}) for codes in violations],
        "verdict": [None if codes is None else "not_checked" if codes else "proved" for codes in violations],
        "turn": [1] * len(violations),
    }


def table(found, step=4, each=2):
    count = len(found["violations"])
    return violation_examples(step, [f"p{i}" for i in range(count)], [f"r{i}" for i in range(count)], found, each)


def test_each_violation_has_a_few_examples():
    found = infos(["too_long"], [], ["too_long", "repeated_lines"], ["too_long"], None, ["too_long"])
    rows = table(found)
    assert [row["violation"] for row in rows] == ["repeated_lines", "too_long", "too_long"]
    assert rows[0]["response"] == "r2" and rows[0]["prompt"] == "p2"
    for row in rows:
        assert tuple(row) == COLUMNS
        assert json.loads(row["measure"]) == {"value": 7, "threshold": 5, "violated": True, "detail": None}
        assert row["violation"] in json.loads(found["violations"][int(row["response"][1:])])
    assert table(found) == rows


def test_other_steps_may_show_other_examples():
    found = infos(*[["too_long"]] * 40)
    assert len({tuple(row["response"] for row in table(found, step)) for step in range(8)}) > 4


def test_without_violations_there_is_no_row():
    assert table(infos([], [], None)) == []
