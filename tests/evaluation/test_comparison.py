import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from kimina.evaluation import holm, mcnemar, mcnemar_solved, paired_gain, paired_t, sign_flip_test
from kimina.evaluation.comparison import verdict


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_agrees_with_scipys_binomial_test(only_before, only_after):
    p = mcnemar(only_before, only_after).p
    trials = only_before + only_after
    reference = scipy.stats.binomtest(only_before, trials).pvalue if trials else 1.0
    assert p == pytest.approx(min(1.0, reference), abs=1e-12)


def test_mcnemar_counts_the_problems_that_changed():
    before = [True, True, False, False, False]
    after = [True, False, True, True, False]
    result = mcnemar_solved(before, after)
    assert (result.only_before, result.only_after) == (1, 2)
    with pytest.raises(ValueError):
        mcnemar_solved([True], [True, False])
    with pytest.raises(ValueError):
        mcnemar(-1, 2)


def _brute_force(differences):
    observed = abs(sum(differences))
    patterns = list(itertools.product((1, -1), repeat=len(differences)))
    hits = sum(
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) >= observed for signs in patterns
    )
    return hits / len(patterns)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-8, 8), min_size=1, max_size=10))
def test_sign_flip_equals_brute_force(numerators):
    exact = [Fraction(value, 8) for value in numerators]
    expected = _brute_force(exact)
    assert sign_flip_test(exact)[0] == pytest.approx(expected, abs=1e-12)
    assert sign_flip_test([float(value) for value in exact])[0] == pytest.approx(expected, abs=1e-12)


def test_sign_flip_on_unit_differences_is_mcnemar():
    differences = [Fraction(1)] * 14 + [Fraction(-1)] * 6 + [Fraction(0)] * 80
    assert sign_flip_test(differences)[0] == pytest.approx(mcnemar(6, 14).p, abs=1e-12)


def test_sign_flip_on_the_grid_agrees_with_the_exact_one():
    numerators = np.random.default_rng(0).integers(-20, 24, size=200)
    exact, name = sign_flip_test([Fraction(int(value), 64) for value in numerators])
    rounded, other_name = sign_flip_test([float(value) / 64 for value in numerators])
    assert (name, other_name) == ("exact sign-flip test", "sign-flip test on a grid of 2^18 steps")
    assert rounded == pytest.approx(exact, rel=0.02)


def test_sign_flip_agrees_with_scipys_random_permutations():
    differences = np.random.default_rng(1).normal(0.03, 0.2, size=120)
    reference = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(2)
    ).pvalue
    assert sign_flip_test(list(differences))[0] == pytest.approx(reference, abs=0.01)


def test_sign_flip_rejects_five_times_in_a_hundred_when_nothing_changed():
    generator = np.random.default_rng(3)
    rejected = 0
    for _ in range(400):
        rates = generator.beta(0.7, 1.0, size=60)
        before, after = generator.binomial(8, rates), generator.binomial(8, rates)
        p, _ = sign_flip_test([Fraction(int(b - a), 8) for a, b in zip(before, after, strict=True)])
        rejected += p < 0.05
    assert 0.02 <= rejected / 400 <= 0.08


def test_tiny_p_values_are_not_cut_off_by_a_number_of_resamples():
    assert sign_flip_test([Fraction(1, 8)] * 100)[0] == pytest.approx(2.0**-99, rel=1e-9)


def test_no_difference_is_not_distinguishable():
    gain = paired_gain([Fraction(1, 2)] * 5, [Fraction(1, 2)] * 5)
    assert (gain.gain, gain.p, gain.interval, gain.verdict) == (0.0, 1.0, None, "not distinguishable")


def test_paired_gain_leaves_out_problems_that_one_run_lacks():
    gain = paired_gain([0.25, None, 0.5, 0.0], [0.5, 1.0, None, 0.5])
    assert (gain.problems, gain.gain) == (2, 0.375)
    assert paired_gain([None], [0.5]) is None
    with pytest.raises(ValueError):
        paired_gain([0.5], [0.5, 0.5])


def test_paired_gain_of_a_clear_change_is_higher():
    generator = np.random.default_rng(4)
    before = generator.integers(0, 40, size=244)
    after = np.clip(before + generator.integers(0, 20, size=244), 0, 64)
    gain = paired_gain([Fraction(int(c), 64) for c in before], [Fraction(int(c), 64) for c in after])
    assert gain.verdict == "higher"
    assert gain.gain == pytest.approx((after - before).mean() / 64)
    assert gain.interval.low > 0.1
    assert gain.gain in gain.interval


def test_paired_t_agrees_with_scipy():
    differences = np.random.default_rng(5).normal(0.1, 0.5, size=30)
    assert paired_t(list(differences)) == pytest.approx(scipy.stats.ttest_1samp(differences, 0.0).pvalue, abs=1e-12)
    assert paired_t([0.1]) is None
    assert paired_t([0.1, 0.1]) is None


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value(p_values):
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    assert max(adjusted) <= 1.0


def test_verdict_needs_significance():
    assert verdict(0.1, 0.01) == "higher"
    assert verdict(-0.1, 0.01) == "lower"
    assert verdict(0.1, 0.05) == "not distinguishable"
