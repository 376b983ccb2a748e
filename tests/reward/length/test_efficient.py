"""Arora and Zanette's length reward: numbers worked out by hand, and the formula in NumPy."""

import numpy as np
import pytest

# 1 / (1 + e^-1)
SIGMA_OF_ONE = 0.7310585786300049


def formula(lengths, correct, alpha=0.1):
    if not correct.any():
        return np.zeros(lengths.size)
    among = lengths[correct]
    z = (lengths - among.mean()) / (among.std() + 1e-7)
    reward = np.where(correct, 1 - alpha / (1 + np.exp(-np.where(correct, z, 0.0))), 0.0)
    return reward - correct


def test_by_hand(control):
    # Correct: 100 and 300, mean 200, standard deviation 100; the wrong answer of 9,000 tokens doesn't count.
    added = control("efficient", alpha=0.4).rewards([100, 9000, 300], [True, False, True], 1)
    assert added == pytest.approx([-0.4 * (1 - SIGMA_OF_ONE), 0.0, -0.4 * SIGMA_OF_ONE], rel=1e-8)


def test_one_correct_answer_and_equally_long_ones_lose_half_of_alpha(control):
    method = control("efficient", alpha=0.2)
    assert method.rewards([50, 70], [True, False], 1) == pytest.approx([-0.1, 0.0])
    assert method.rewards([50, 50, 50], [True] * 3, 1) == pytest.approx([-0.1] * 3)
    assert method.rewards([0], [True], 1) == pytest.approx([-0.1])


def test_nobody_is_correct(control):
    assert control("efficient").rewards([5, 500], [False, False], 1) == [0.0, 0.0]


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.4])
def test_agrees_with_the_formula(groups, control, agrees, alpha):
    method = control("efficient", alpha=alpha)
    for lengths, correct in groups:
        agrees(method, lambda *columns: formula(*columns, alpha=alpha), lengths, correct)


def test_a_correct_answer_keeps_more_than_one_minus_alpha(groups, control):
    method = control("efficient", alpha=0.4)
    for lengths, correct in groups:
        for added, right in zip(method.rewards(lengths, correct, 1), correct, strict=True):
            assert -0.4 < added < 0 if right else added == 0


def test_a_group_far_apart_does_not_overflow(control):
    added = control("efficient").rewards([0] * 4000 + [10**12], [True] * 4001, 1)
    assert added[-1] == pytest.approx(-0.1) and -0.1 < added[0] < 0
