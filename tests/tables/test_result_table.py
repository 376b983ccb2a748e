import json
from dataclasses import replace

import pytest

from kimina.errors import UserError
from kimina.evaluation import EvalResult, Outcome, mcnemar, pass_at_k
from kimina.tables import compare
from kimina.tables.result_table import FAMILY, LEVEL


def _outcome(problem, sample, verdict):
    return Outcome(problem, "conj", 1, sample, verdict, (), None, 10, True)


def _run(label, **verdicts):
    return EvalResult.of(
        label, [_outcome(name, i, v) for name, listed in verdicts.items() for i, v in enumerate(listed)]
    )


def test_a_small_table_by_hand():
    good, bad = "proved", "lean_error"
    before = _run("before", a=[good, bad], b=[bad, bad], c=[good, good])
    after = _run("after", c=[good, bad], b=[good, bad], a=[good, good])
    table = compare(before, after, ks=(2, 1))
    one, two = table.overall.cells
    assert (one.k, two.k) == (1, 2)
    assert (one.before.value, one.after.value) == (0.5, pytest.approx(2 / 3))
    assert one.gain.gain == pytest.approx(1 / 6)
    # Differences +1/2, +1/2, -1/2: six of eight sign patterns... all sums are ±1/2 or ±3/2, so all are as far out.
    assert one.p == 1.0
    assert (two.before.value, two.after.value) == (pytest.approx(2 / 3), 1.0)
    assert table.ability.gained == ("b",)
    assert table.ability.lost == ()
    assert (table.ability.both, table.ability.neither) == (2, 0)
    assert table.ability.test.p == mcnemar(0, 1).p == 1.0


def test_rates_agree_with_the_estimator(table, runs):
    for result, side in zip(runs, ("before", "after"), strict=True):
        expected = sum(pass_at_k(problem.n, problem.c, 8) for problem in result.problems) / 40
        rate = table.overall.cell(8).before if side == "before" else table.overall.cell(8).after
        assert rate.value == pytest.approx(expected)
        assert rate.n == 40


def test_more_attempts_than_samples_are_undefined_not_zero(table):
    cell = table.overall.cell(64)
    assert cell.before.value is None
    assert cell.gain is None
    assert cell.verdict == "undefined"
    assert table.to_dict()["rows"][0]["pass_at_k"]["64"]["before"]["value"] is None


def test_the_family_that_learned_is_told_from_the_one_that_did_not(table):
    families = {row.name: row.cells[0].verdict for row in table.grouped(FAMILY)}
    assert families == {"conj": "higher", "<b>iff</b>": "not distinguishable"}
    assert [row.name for row in table.grouped(LEVEL)] == ["1", "2", "3", "4"]
    assert sum(row.problems for row in table.grouped(LEVEL)) == table.overall.problems == 40


def test_group_p_values_are_adjusted(table):
    for group in (LEVEL, FAMILY):
        for row in table.grouped(group):
            assert row.cells[0].p >= row.cells[0].gain.p
    assert table.overall.cells[0].p == table.overall.cells[0].gain.p


def test_all_or_nothing_is_compared_by_mcnemar():
    before = _run("before", **{f"p{i}": ["proved" if i < 2 else "sorry"] for i in range(12)})
    after = _run("after", **{f"p{i}": ["proved" if i >= 1 else "sorry"] for i in range(12)})
    assert compare(before, after, ks=(1,)).overall.cells[0].p == pytest.approx(mcnemar(1, 10).p)


def test_unverified_samples_leave_both_sides_of_the_pair():
    before = _run("before", a=["proved", "unverified"], b=["proved", "proved"])
    after = _run("after", a=["proved", "proved"], b=["sorry", "proved"])
    cell = compare(before, after, ks=(1, 2)).overall.cell(2)
    assert (cell.before.n, cell.after.n, cell.gain.problems) == (1, 1, 1)
    assert compare(before, after).unverified == 1


def test_a_problem_that_nobody_could_verify_is_neither_solved_nor_lost():
    table = compare(_run("b", a=["proved"], b=["proved"]), _run("a", a=["unverified"], b=["proved"]), ks=(1,))
    assert (table.ability.lost, table.ability.both) == ((), 1)


def test_runs_on_different_problems_are_not_compared(runs):
    before, after = runs
    fewer = replace(after, problems=after.problems[1:])
    with pytest.raises(UserError, match=r"not of the same problems: 1 .*p00.*data="):
        compare(before, fewer)
    with pytest.raises(UserError, match="nothing to compare"):
        compare(EvalResult("before", ()), EvalResult("after", ()))


def test_the_same_data_give_the_same_numbers(runs, table):
    again = json.dumps(compare(*runs, ks=(1, 8, 64)).to_dict(), allow_nan=False)
    assert again == json.dumps(table.to_dict(), allow_nan=False)
    assert json.loads(again)["schema"] == 1
