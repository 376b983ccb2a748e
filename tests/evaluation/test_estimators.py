import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimina.evaluation import best_at_k, mean_pass_at_k, pass_at_k, pass_values, percent, powers_of_two


@st.composite
def counts(draw, largest=200):
    n = draw(st.integers(0, largest))
    return n, draw(st.integers(0, n))


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_equals_the_share_of_all_subsets_with_a_success(n):
    for c in range(n + 1):
        samples = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            subsets = list(itertools.combinations(samples, k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-15)


@pytest.mark.parametrize("n", range(1, 6))
def test_best_at_k_equals_the_mean_over_all_draws_with_replacement(n):
    for c in range(n + 1):
        samples = [1.0] * c + [0.0] * (n - c)
        for k in range(1, 5):
            draws = [max(draw) for draw in itertools.product(samples, repeat=k)]
            assert best_at_k(n, c, k) == pytest.approx(math.fsum(draws) / len(draws), abs=1e-14)


def test_best_at_k_is_not_pass_at_k():
    assert best_at_k(8, 1, 8) == pytest.approx(0.656391, abs=1e-6)
    assert pass_at_k(8, 1, 8) == 1.0
    assert best_at_k(0, 0, 1) is None


@given(counts(), st.integers(1, 250))
def test_pass_at_k_is_undefined_exactly_where_samples_are_too_few(pair, k):
    n, c = pair
    value = pass_at_k(n, c, k)
    assert (value is None) == (n < k)
    if value is not None:
        assert 0.0 <= value <= 1.0
        assert (value == 0.0) == (c == 0)


@given(counts(), st.integers(1, 200))
def test_pass_at_k_rises_with_k_and_with_c(pair, k):
    n, c = pair
    if k < n:
        assert pass_at_k(n, c, k) <= pass_at_k(n, c, k + 1)
    if k <= n and c < n:
        assert pass_at_k(n, c, k) <= pass_at_k(n, c + 1, k)


@given(counts(), st.integers(1, 200))
def test_pass_at_k_agrees_with_the_stable_product(pair, k):
    n, c = pair
    if n < k:
        return
    terms = np.arange(n - c + 1, n + 1, dtype=np.float64)
    stable = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / terms)
    assert pass_at_k(n, c, k) == pytest.approx(stable, abs=1e-12)


def test_pass_at_k_is_unbiased():
    # Draw n samples of a problem with a known rate: the mean of the estimates is the true 1 - (1 - p)^k.
    generator = np.random.default_rng(0)
    p, n, k = 0.1, 16, 8
    successes = generator.binomial(n, p, size=20_000)
    estimates = np.array([pass_at_k(n, int(c), k) for c in successes])
    error = estimates.std() / math.sqrt(estimates.size)
    assert abs(estimates.mean() - (1 - (1 - p) ** k)) < 4 * error


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (-1, 0, 1), (4, -1, 1), (4, 2, 0), (4.5, 1, 1), (True, 1, 1)])
def test_impossible_counts_are_refused(n, c, k):
    for estimator in (pass_at_k, best_at_k):
        with pytest.raises(ValueError):
            estimator(n, c, k)


def test_mean_pass_at_k_says_how_many_problems_took_part():
    mean = mean_pass_at_k([(8, 1), (8, 8), (3, 3)], 4)
    assert (mean.value, mean.eligible, mean.problems) == (0.75, 2, 3)
    undefined = mean_pass_at_k([(3, 3)], 4)
    assert (undefined.value, undefined.eligible) == (None, 0)
    assert pass_values([(8, 1), (3, 3)], 4) == [0.5, None]


def test_percent_is_rounded_from_the_exact_ratio():
    assert percent(168, 244) == "68.85"
    assert percent(187, 244) == "76.64"
    assert percent(244, 244) == "100.00"
    assert percent(0, 244) == "0.00"
    assert percent(1, 32) == "3.13"
    assert percent(1, 3, digits=1) == "33.3"
    assert percent(0, 0) is None
    with pytest.raises(ValueError):
        percent(245, 244)


def test_powers_of_two():
    assert powers_of_two(64) == [1, 2, 4, 8, 16, 32, 64]
    assert powers_of_two(63) == [1, 2, 4, 8, 16, 32]
    assert powers_of_two(0) == []


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_exact_value_correctly_rounded(case):
    n, c, k = case
    exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    assert pass_at_k(n, c, k) == exact.numerator / exact.denominator


def test_a_million_samples_of_one_problem_are_exact():
    n = 1_000_000
    assert pass_at_k(n, 1, n // 2) == 0.5
    assert pass_at_k(n, n - 1, 1) == 0.999999
    # Three successes, half of the samples drawn: 1 - (5e5)(5e5 - 1)(5e5 - 2) / (1e6)(1e6 - 1)(1e6 - 2).
    exact = 1 - Fraction(500_000 * 499_999 * 499_998, 1_000_000 * 999_999 * 999_998)
    assert pass_at_k(n, 3, n // 2) == float(exact)
    assert pass_at_k(n, n // 2, 52) < 1.0
    assert pass_at_k(n, n // 2, 60) == 1.0


@pytest.mark.parametrize(("problems", "samples"), [(1, 1_000_000), (244, 4_098), (31_250, 32), (1_000_000, 1)])
def test_a_million_samples_take_less_than_a_second(problems, samples):
    counts = [(samples, c) for c in np.random.default_rng(0).integers(0, samples + 1, size=problems).tolist()]
    started = time.process_time()
    for k in powers_of_two(samples):
        mean_pass_at_k(counts, k)
    # All powers of two up to n together; the machine may be busy, so processor time is taken.
    assert time.process_time() - started < 1.0
