"""Solved rows leave the pool, are looked at again, and the pool never runs dry."""

import pytest

from kimina.data.sampling import Outcome


def solve(sampler, step, *rows, attempts=8):
    sampler.record(step, [Outcome(row, attempts, attempts) for row in rows])


def test_a_row_leaves_after_so_many_draws_solved_in_a_row(sampler):
    it = sampler("solved_pruning", rows=6, times=2, revisit_share=0)
    solve(it, 1, 0, 1, 2)
    assert it.metrics()["pool_size"] == 6
    it.record(2, [Outcome(0, 8, 8), Outcome(1, 8, 7), Outcome(2, 0, 0)])
    assert it.metrics()["pool_size"] == 5 and it.metrics()["pruned"] == pytest.approx(1 / 6)
    assert sorted(it.draw(3, 5)) == [1, 2, 3, 4, 5]
    # Row 1 begins anew; of row 2 nobody judged the second draw.
    solve(it, 3, 1, 2)
    assert it.metrics()["pool_size"] == 4
    solve(it, 4, 1)
    assert it.metrics()["pool_size"] == 3


def test_one_attempt_without_success_is_enough_to_stay(sampler):
    it = sampler("solved_pruning", rows=2, times=1)
    it.record(1, [Outcome(0, 8, 7), Outcome(1, 1, 1)])
    assert it.metrics()["pool_size"] == 1 and it.draw(2, 1) == [0]


def test_until_something_is_solved_the_prompts_are_those_of_uniform_sampling(sampler):
    it, uniform = sampler("solved_pruning", rows=9), sampler("uniform", rows=9)
    for step in range(1, 10):
        assert it.draw(step, 4) == uniform.draw(step, 4)


def test_a_share_of_places_goes_to_the_rows_that_were_out_the_longest(sampler):
    it = sampler("solved_pruning", rows=20, times=1, revisit_share=0.25)
    solve(it, 1, 3)
    solve(it, 2, 11, 7)
    batches = [it.draw(step, 4) for step in range(1, 7)]
    assert [batch[3] for batch in batches] == [3, 11, 7, 3, 11, 7]
    assert not {3, 7, 11} & {row for batch in batches for row in batch[:3]}


def test_a_revisited_row_that_fails_comes_back_and_must_be_solved_anew(sampler):
    it = sampler("solved_pruning", rows=4, times=2, revisit_share=0.5)
    solve(it, 1, 0, 1)
    solve(it, 2, 0, 1)
    assert it.draw(3, 2)[1] == 0
    it.record(3, [Outcome(0, 8, 7), Outcome(1, 8, 8)])
    assert it.metrics()["pool_size"] == 3
    solve(it, 4, 0)
    assert it.metrics()["pool_size"] == 3
    solve(it, 5, 0)
    assert it.metrics()["pool_size"] == 2


def test_without_revisits_what_left_stays_away(sampler):
    it = sampler("solved_pruning", rows=8, times=1, revisit_share=0)
    solve(it, 1, 0, 1, 2)
    drawn = {row for step in range(2, 60) for row in it.draw(step, 3)}
    assert drawn == {3, 4, 5, 6, 7}


def test_a_small_pool_is_filled_up_instead_of_drawn_twice(sampler):
    it = sampler("solved_pruning", rows=6, times=1, revisit_share=0)
    solve(it, 1, 5, 0, 2, 4)
    batch = [*it.draw(2, 3), *it.draw(2, 3)]
    assert sorted(batch[:2]) == [1, 3] and batch[2:] == [5, 0, 2, 4]
    # Then there is nothing left but to begin again with the pool.
    assert sorted(it.draw(2, 2)) == [1, 3]


@pytest.mark.parametrize("share", [0, 0.3])
def test_when_every_row_has_left_all_are_revisited_in_turn(sampler, share):
    it = sampler("solved_pruning", rows=4, times=1, revisit_share=share)
    solve(it, 1, 2, 0, 3, 1)
    assert it.metrics()["pool_size"] == 0 and it.metrics()["pruned"] == 1
    assert it.draw(2, 3) == [2, 0, 3] and it.draw(3, 6) == [1, 2, 0, 3, 1, 2]
    it.record(3, [Outcome(0, 8, 5)])
    assert it.draw(4, 1) == [0] or share
    assert it.metrics()["pool_size"] == 1
