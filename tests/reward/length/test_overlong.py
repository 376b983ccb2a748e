"""DAPO's soft overlong punishment: numbers worked out by hand, and the formula in NumPy."""

import numpy as np
import pytest

from kimina.errors import UserError
from kimina.reward.length import overlong_penalty


def formula(max_length, buffer, factor=1.0):
    def penalty(lengths, correct):
        free = max_length - buffer
        inside = (free - lengths) / (buffer or 1)
        return factor * np.where(lengths <= free, 0.0, np.where(lengths <= max_length, inside, -1.0))

    return penalty


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, 0.0),
        (16384, 0.0),
        (16385, -1 / 4096),
        (17408, -0.25),
        (18432, -0.5),
        (20479, -4095 / 4096),
        (20480, -1.0),
        (20481, -1.0),
        (10**6, -1.0),
    ],
)
def test_the_papers_setting_by_hand(length, expected):
    assert overlong_penalty(length, 20480, 4096) == expected


def test_a_buffer_as_large_as_the_limit_and_none_at_all():
    assert [overlong_penalty(length, 100, 100) for length in (0, 1, 50, 100, 101)] == [0.0, -0.01, -0.5, -1.0, -1.0]
    assert [overlong_penalty(length, 100, 0) for length in (0, 99, 100, 101)] == [0.0, 0.0, 0.0, -1.0]


@pytest.mark.parametrize(
    "arguments", [(-1, 10, 5), (3, 0, 0), (3, 10, -1), (3, 10, 11), (3.5, 10, 5), (True, 10, 5), (None, 10, 5)]
)
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="tokens"):
        overlong_penalty(*arguments)


@pytest.mark.parametrize(("max_length", "buffer", "factor"), [(200, 40, 1.0), (20480, 4096, 0.5), (150, 150, 2.0), (100, 0, 1.0)])
def test_agrees_with_the_formula(groups, control, agrees, max_length, buffer, factor):
    method = control("overlong", max_length=max_length, buffer=buffer, factor=factor)
    for lengths, correct in groups:
        agrees(method, formula(max_length, buffer, factor), lengths, correct)


def test_correctness_does_not_matter_and_nothing_is_gained(groups, control):
    method = control("overlong", max_length=20480)
    for lengths, correct in groups:
        rewards = method.rewards(lengths, correct, 1)
        assert rewards == method.rewards(lengths, [not right for right in correct], 1)
        assert all(-1 <= reward <= 0 for reward in rewards)


def test_without_a_buffer_it_is_the_papers_share(control):
    assert [control("overlong", max_length=most).buffer_tokens for most in (20480, 192, 4, 1)] == [4096, 38, 1, 1]
    assert control("overlong", max_length=20480).rewards([18432], [True], 1) == [-0.5]


def test_a_buffer_that_is_larger_than_the_limit_is_refused(control):
    with pytest.raises(UserError, match=r"length\.buffer=11 is larger than length\.max_length=10"):
        control("overlong", max_length=10, buffer=11)
