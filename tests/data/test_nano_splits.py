"""The splits: disjoint after normalisation, balanced, repeatable."""

from collections import Counter

import pytest

from kimina.data.nano.build import CELLS, build_splits
from kimina.errors import UserError


def test_the_shipped_counts(splits, recipe):
    assert len(splits.test) == 244
    assert len({problem.statement for problem in splits.train}) == len(splits.train) >= 5000
    assert len({problem.normal_form for problem in splits.train}) >= 4000
    assert len(splits.dev) == recipe["dev_count"] >= 2 * len(CELLS)


def forms(part):
    return {problem.normal_form for problem in part}


def test_splits_are_disjoint_after_normalisation(splits):
    train, dev, test = forms(splits.train), forms(splits.dev), forms(splits.test)
    assert (len(train & dev), len(train & test), len(dev & test)) == (0, 0, 0)


def test_levels_that_share_a_normal_form_do_not_join_two_splits():
    # With this seed, three development theorems of one level were test theorems of another.
    splits = build_splits(1, 8000, 244, 244)
    assert not forms(splits.dev) & forms(splits.test)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_held_out_theorems_are_of_distinct_forms(seed):
    # Two levels of a family share forms: with seed 0, one of disj was drawn at level 1 and at level 2.
    splits = build_splits(seed, 400, 120, 244)
    for part in (splits.dev, splits.test):
        assert len(forms(part)) == len({problem.statement for problem in part}) == len(part)


def test_held_out_cells_differ_by_one_at_most(splits):
    for part in (splits.dev, splits.test):
        counts = Counter((problem.family, problem.level) for problem in part)
        assert set(counts) == set(CELLS)
        assert max(counts.values()) - min(counts.values()) <= 1


def test_every_cell_is_trained(splits):
    counts = Counter((problem.family, problem.level) for problem in splits.train)
    assert set(counts) == set(CELLS)
    assert min(counts.values()) >= 20


def test_one_seed_gives_the_same_splits_and_another_gives_others():
    one, again, other = (build_splits(seed, 400, 60, 60) for seed in (3, 3, 4))
    assert one == again
    assert {p.statement for p in one.test} != {p.statement for p in other.test}


def test_small_splits_are_drawn_too():
    splits = build_splits(1, 10, 3, 5)
    assert [len(part) for part in (splits.train, splits.dev, splits.test)] == [10, 3, 5]


def test_more_held_out_theorems_than_there_are_is_a_users_error():
    with pytest.raises(UserError, match=r"too few different theorems of family .*\n  type: recipe.dev_count=244"):
        build_splits(1, 10, 3000, 3000)
