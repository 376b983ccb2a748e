"""Kimi k1.5's length reward: numbers worked out by hand, the formula in NumPy, warm-up."""

from itertools import pairwise

import numpy as np
import pytest

from kimina.reward.length import k15_length_reward, k15_total


def formula(lengths, correct):
    spread = lengths.max() - lengths.min()
    if spread == 0:
        return np.zeros(lengths.size)
    factor = 0.5 - (lengths - lengths.min()) / spread
    return np.where(correct, factor, np.minimum(0, factor))


@pytest.mark.parametrize(
    ("lengths", "correct", "expected"),
    [
        ([100, 200, 300], [True, True, True], [0.5, 0.0, -0.5]),
        # lambda = 0.5, 0.25, -0.25, -0.5
        ([40, 60, 100, 120], [True, False, False, True], [0.5, 0.0, -0.25, -0.5]),
        # The longest and the shortest are wrong and set the range of the one that is right: 0.5 - 70 / 100.
        ([10, 80, 110], [False, True, False], [0.0, -0.2, -0.5]),
        # Nobody is correct: nothing above 0.
        ([0, 25, 100], [False, False, False], [0.0, 0.0, -0.5]),
        ([7, 7, 7], [True, False, True], [0.0, 0.0, 0.0]),
        ([500], [True], [0.0]),
        ([0, 0], [False, False], [0.0, 0.0]),
    ],
)
def test_by_hand(lengths, correct, expected):
    assert k15_length_reward(lengths, correct) == pytest.approx(expected, abs=1e-12)


def test_agrees_with_the_formula(groups, control, agrees):
    method = control("k15", weight=1.0, start_step=0)
    for lengths, correct in groups:
        agrees(method, formula, lengths, correct)


def test_bounds(groups):
    for lengths, correct in groups:
        rewards = k15_length_reward(lengths, correct)
        assert all(-0.5 <= reward <= 0.5 for reward in rewards)
        assert all(reward <= 0 for reward, right in zip(rewards, correct, strict=True) if not right)
        # The shortest and the longest of a group that is all correct cancel.
        if all(correct) and len(set(lengths)) > 1:
            assert max(rewards) == 0.5 and min(rewards) == -0.5
            assert abs(sum(rewards)) <= (len(rewards) - 2) * 0.5 + 1e-12


def test_a_longer_answer_never_gains(groups):
    for lengths, correct in groups:
        rewards = k15_length_reward(lengths, correct)
        for right in (True, False):
            ordered = sorted(
                (length, reward) for length, reward, one in zip(lengths, rewards, correct, strict=True) if one is right
            )
            assert all(after[1] <= before[1] for before, after in pairwise(ordered))


def test_the_weight_scales_it(control):
    assert control("k15", weight=0.2, start_step=0).rewards([1, 3], [True, True], 1) == pytest.approx([0.1, -0.1])
    assert control("k15", weight=0, start_step=0).rewards([1, 3], [True, True], 1) == [0.0, 0.0]


def test_with_the_default_weight_being_correct_counts_for_more_than_being_short(groups, control):
    method = control("k15")
    for lengths, correct in groups:
        total = np.array(correct, dtype=float) + method.rewards(lengths, correct, 1000)
        right, wrong = total[np.array(correct)], total[~np.array(correct)]
        assert right.size == 0 or right.min() >= 0.75
        assert wrong.size == 0 or wrong.max() <= 0


def test_a_step_warm_up_is_off_and_then_whole(control):
    method = control("k15", weight=1.0, start_step=10)
    assert [method.active(step) for step in (0, 1, 9, 10, 11, 500)] == [False, False, False, True, True, True]
    assert method.rewards([1, 3], [True, True], 9) == [0.0, 0.0]
    assert method.rewards([1, 3], [True, True], 10) == method.rewards([1, 3], [True, True], 900) == [0.5, -0.5]


def test_a_linear_warm_up_reaches_the_whole_weight_on_its_last_step(control):
    method = control("k15", warmup="linear", weight=1.0, start_step=10, ramp_steps=4)
    assert [method.share(step) for step in (0, 9, 10, 11, 12, 13, 14, 99)] == [0, 0, 0.25, 0.5, 0.75, 1, 1, 1]
    assert method.rewards([1, 3], [True, True], 11) == [0.25, -0.25]
    assert control("k15", warmup="linear", start_step=10, ramp_steps=1).share(10) == 1


def test_the_total_is_correctness_and_the_weighted_reward_from_the_start_on():
    settings = {"weight": 0.5, "start_step": 20}
    assert k15_total([100, 300], [1, 0], step=19, **settings) == [1.0, 0.0]
    assert k15_total([100, 300], [1, 0], step=20, **settings) == [1.25, -0.25]
