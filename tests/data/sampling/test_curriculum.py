"""The curriculum: which rows are in the pool at which step."""

import pytest

from kimina.data.sampling import Outcome, Problem, make_sampler
from kimina.errors import UserError


def pools(sampler, steps, batch=40):
    """The set of rows that each of the steps draws, with batches that hold the whole pool."""
    return [set(sampler.draw(step, batch)) for step in range(1, steps + 1)]


def given(difficulties, **settings):
    problems = [Problem(f"p{i}", difficulty) for i, difficulty in enumerate(difficulties)]
    return make_sampler({"name": "curriculum", "difficulty": "row", **settings}, problems, 1)


def test_linear_grows_from_the_easiest_rows_to_all_of_them():
    """f = 0.2 + 0.8 t / 4: 0.4, 0.6, 0.8 and 1 of ten rows."""
    it = given([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], schedule="linear", start_share=0.2, end_step=4)
    expected = [set(range(6, 10)), set(range(4, 10)), set(range(2, 10)), set(range(10)), set(range(10))]
    assert pools(it, 5) == expected


def test_the_size_of_a_share_is_rounded_up_but_not_by_rounding_errors():
    it = given(range(100), schedule="warmup_then_hard", warmup_steps=0, hard_share=0.07)
    assert set(it.draw(1, 7)) == set(range(93, 100)) and it.metrics()["pool_size"] == 7
    it = given(range(3), warmup_steps=0, hard_share=0.5)
    assert set(it.draw(1, 4)) == {1, 2}
    assert given(range(3), warmup_steps=0, hard_share=0.001).draw(1, 2) == [2, 2]


def test_warm_up_then_the_hardest_share():
    it = given([1, 5, 2, 5, 4, 1, 3, 4, 2, 3], warmup_steps=2, hard_share=0.4)
    assert pools(it, 4) == [set(range(10)), set(range(10)), {1, 3, 4, 7}, {1, 3, 4, 7}]
    assert it.metrics()["pool_size"] == 4
    assert it.metrics()["pool_difficulty"] == 4.5 and it.metrics()["difficulty"] == 3


def test_the_warm_up_has_the_prompts_of_uniform_sampling(sampler):
    """As in figure 9 of Kimi k1.5, where both curves are one until iteration 24."""
    it, uniform = sampler("curriculum", rows=50), sampler("uniform", rows=50)
    drawn = [(it.draw(step, 8), uniform.draw(step, 8)) for step in range(1, 40)]
    assert all(one == two for one, two in drawn[:24])
    assert all(one != two for one, two in drawn[24:])


def test_a_threshold_takes_all_rows_of_that_difficulty():
    it = given([1, 5, 2, 5, 4], warmup_steps=0, hard_threshold=4)
    assert pools(it, 1) == [{1, 3, 4}]
    assert pools(given([1, 5, 2, 5, 4], warmup_steps=0, hard_threshold=6), 1) == [{1, 3}]


def test_in_the_hard_phase_every_row_of_the_pool_is_drawn_equally_often():
    it = given(range(20), warmup_steps=0, hard_share=0.25)
    drawn = [row for step in range(1, 11) for row in it.draw(step, 3)]
    assert all(drawn.count(row) == 6 for row in range(15, 20))


def test_equal_difficulties_are_told_apart_by_lot_once_a_run():
    chosen = set()
    for seed in range(40):
        problems = [Problem(f"p{i}", 1.0) for i in range(6)]
        it = make_sampler({"name": "curriculum", "difficulty": "row", "warmup_steps": 0, "hard_share": 0.3}, problems, seed)
        pool = {*it.draw(1, 10), *it.draw(2, 10)}
        assert len(pool) == 2
        chosen |= pool
    assert chosen == set(range(6))


def test_measured_difficulty_ranks_failed_before_untried_before_solved(sampler):
    """1 - s with s = (c + 1/2) / (n + 1): failed 8 of 8 gives 0.94, untried 0.5, solved 6 of 8 0.28."""
    it = sampler("curriculum", rows=6, warmup_steps=1, hard_share=0.5)
    it.draw(1, 6)
    it.record(1, [Outcome(0, 8, 8), Outcome(1, 8, 6), Outcome(2, 8, 0), Outcome(3, 8, 1), Outcome(5, 0, 0)])
    assert it.metrics()["difficulty"] == pytest.approx((0.5 / 9 + 2.5 / 9 + 8.5 / 9 + 7.5 / 9 + 0.5 + 0.5) / 6)
    hard = set(it.draw(2, 20))
    assert len(hard) == 3 and hard < {2, 3, 4, 5} and hard > {2, 3}
    # One of the two that were tried is solved now: the other untried row takes its place.
    it.record(2, [Outcome(3, 80, 80)])
    assert set(it.draw(3, 20)) == {2, 4, 5}


def test_measurements_do_not_touch_a_given_difficulty():
    it = given(range(4), warmup_steps=0, hard_share=0.25)
    it.record(1, [Outcome(3, 100, 100)])
    assert set(it.draw(1, 3)) == {3}


@pytest.mark.parametrize("missing", [None, float("nan"), float("inf")])
def test_rows_without_difficulty_are_named(missing):
    with pytest.raises(UserError) as caught:
        given([1, missing, 2, missing, missing, missing])
    text = str(caught.value)
    assert "4 of 6 rows of the training set have no difficulty (p1, p3, p4, …)" in text
    assert text.endswith("type: sampling.difficulty=measured")


def test_rows_without_difficulty_are_fine_when_it_is_measured():
    it = make_sampler({"name": "curriculum"}, [Problem("a"), Problem("b")], 1)
    assert sorted(it.draw(1, 2)) == [0, 1]
