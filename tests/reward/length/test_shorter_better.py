"""ShorterBetter's reward: numbers worked out by hand, and the formula in NumPy."""

import numpy as np
import pytest


def formula(lengths, correct, alpha=2.0, beta=0.001):
    optimal = lengths[correct].min() if correct.any() else lengths.mean()
    return alpha * correct - beta * np.abs(optimal - lengths) - correct


def test_by_hand(control):
    # l* = 300, the shortest correct one; a shorter wrong answer loses, too.
    added = control("shorter_better").rewards([100, 300, 800], [False, True, True], 1)
    assert added == pytest.approx([-0.2, 1.0, 0.5])
    assert [1 + reward for reward in added[1:]] == pytest.approx([2.0, 1.5])


def test_when_nobody_is_correct_the_mean_is_the_goal(control):
    assert control("shorter_better").rewards([100, 200, 600], [False] * 3, 1) == pytest.approx([-0.2, -0.1, -0.3])


def test_a_single_sample_is_its_own_goal(control):
    assert control("shorter_better").rewards([70], [True], 1) == [1.0]
    assert control("shorter_better").rewards([0], [False], 1) == [0.0]


@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 0.001), (0.5, 0.01)])
def test_agrees_with_the_formula(groups, control, agrees, alpha, beta):
    method = control("shorter_better", alpha=alpha, beta=beta)
    for lengths, correct in groups:
        agrees(method, lambda *columns: formula(*columns, alpha=alpha, beta=beta), lengths, correct)


def test_the_shortest_correct_answer_is_the_best_of_its_group(groups, control):
    method = control("shorter_better")
    for lengths, correct in groups:
        if any(correct):
            total = [right + added for right, added in zip(correct, method.rewards(lengths, correct, 1), strict=True)]
            best = min(length for length, right in zip(lengths, correct, strict=True) if right)
            index = next(i for i, (length, right) in enumerate(zip(lengths, correct, strict=True)) if right and length == best)
            assert total[index] == max(total) == 2.0
