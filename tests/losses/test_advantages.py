"""Advantages of one group."""

import math

import numpy as np
import pytest
from support.loss_reference import mean_and_std

from kimina.losses.advantages import centred, leave_one_out, positive_part, standardised

COMPARING = (centred, standardised, leave_one_out)


@pytest.mark.parametrize("seed", range(5))
def test_against_float64_references(seed):
    rewards = list(np.random.default_rng(seed).normal(0.3, 1, 3 + seed))
    mean, std = mean_and_std(rewards)
    np.testing.assert_allclose(centred(rewards), [r - mean for r in rewards], rtol=1e-9)
    np.testing.assert_allclose(standardised(rewards), [(r - mean) / (std + 1e-6) for r in rewards], rtol=1e-9)
    count = len(rewards)
    np.testing.assert_allclose(leave_one_out(rewards), [(r - mean) * count / (count - 1) for r in rewards], rtol=1e-9)


@pytest.mark.parametrize("rule", COMPARING)
@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1, 0.95, 1 / 3, -0.7])
def test_equal_rewards_give_exact_zeros(rule, reward):
    # in float32 the mean of eight times 0.95 isn't 0.95, and the difference divided by the floor would be a gradient
    assert rule([reward] * 8) == [0.0] * 8


@pytest.mark.parametrize("rule", COMPARING)
def test_unjudged_responses_leave_the_group(rule):
    alone = rule([1.0, 0.0, 0.0])
    assert rule([None, 1.0, 0.0, None, 0.0]) == [None, alone[0], alone[1], None, alone[2]]


@pytest.mark.parametrize("rule", COMPARING)
@pytest.mark.parametrize("rewards", [[], [1.0], [1.0, None, None], [None, None]])
def test_fewer_than_two_can_not_be_compared(rule, rewards):
    with pytest.raises(ValueError, match="at least 2 judged"):
        rule(rewards)


@pytest.mark.parametrize("rule", COMPARING)
def test_numbers_that_are_none_are_refused(rule):
    for wrong in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite"):
            rule([0.0, wrong])


def test_positive_part_needs_no_company():
    assert positive_part([0.5]) == [0.5]
