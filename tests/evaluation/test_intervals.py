import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from kimina.evaluation import bootstrap_hierarchical, bootstrap_mean, intervals, rate_interval, t_interval, wilson


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy(pair):
    successes, n = pair
    reference = scipy.stats.binomtest(successes, n).proportion_ci(method="wilson")
    interval = wilson(successes, n)
    assert interval.low == pytest.approx(reference.low, abs=1e-12)
    assert interval.high == pytest.approx(reference.high, abs=1e-12)
    assert successes / n in interval


def test_wilson_of_published_counts():
    # 178 and 186 of 244 problems: 67.1 to 78.1 % and 70.5 to 81.1 %.
    assert [round(100 * bound, 1) for bound in (wilson(178, 244).low, wilson(178, 244).high)] == [67.1, 78.1]
    assert [round(100 * bound, 1) for bound in (wilson(186, 244).low, wilson(186, 244).high)] == [70.5, 81.1]


def test_wilson_of_nothing_is_undefined_and_of_too_much_refused():
    assert wilson(0, 0) is None
    with pytest.raises(ValueError):
        wilson(5, 4)


def test_bootstrap_agrees_with_the_normal_approximation_for_many_problems():
    values = np.random.default_rng(1).random(400)
    interval = bootstrap_mean(values)
    reach = 1.96 * values.std(ddof=1) / np.sqrt(values.size)
    assert interval.low == pytest.approx(values.mean() - reach, abs=0.003)
    assert interval.high == pytest.approx(values.mean() + reach, abs=0.003)


def test_bootstrap_depends_on_data_and_seed_alone():
    values = list(np.random.default_rng(2).random(50))
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert bootstrap_mean(values, seed=3) != bootstrap_mean(values, seed=4)


def test_bootstrap_covers_the_truth_about_95_times_in_100():
    generator = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        rates = generator.beta(0.5, 1.0, size=100)
        observed = generator.binomial(16, rates) / 16
        hits += 1 / 3 in bootstrap_mean(observed, resamples=600)
    assert 0.91 <= hits / 300 <= 0.985


def test_equal_values_have_no_bootstrap_interval():
    assert bootstrap_mean([0.5] * 10) is None
    assert bootstrap_mean([0.5]) is None
    assert rate_interval([]) is None


def test_a_rate_of_zero_still_has_an_upper_bound():
    interval = rate_interval([0.0] * 10)
    assert interval == wilson(0, 10)
    assert rate_interval([1.0] * 10) == wilson(10, 10)


def test_hierarchical_bootstrap_is_wider_than_the_one_over_problems():
    generator = np.random.default_rng(6)
    counts = [(8, int(c)) for c in generator.binomial(8, generator.beta(2, 3, size=120))]
    over_problems = bootstrap_mean([c / n for n, c in counts])
    over_both = bootstrap_hierarchical(counts, 1)
    assert over_both.high - over_both.low > over_problems.high - over_problems.low
    mean = sum(c / n for n, c in counts) / len(counts)
    assert mean in over_both
    # Total variance: that between the observed rates, and the binomial one once more.
    rates = np.array([c / n for n, c in counts])
    spread = np.sqrt((rates.var() + (rates * (1 - rates) / 8).mean()) / len(counts))
    assert over_both.high - over_both.low == pytest.approx(2 * 1.96 * spread, rel=0.06)


def test_hierarchical_bootstrap_leaves_out_problems_with_too_few_samples():
    assert bootstrap_hierarchical([(8, 3), (2, 1)], 4) is None
    assert bootstrap_hierarchical([(8, 3), (6, 1), (2, 1)], 4, resamples=200) is not None


def test_t_interval_agrees_with_scipy():
    gains = [0.129, 0.166, 0.157]
    reference = scipy.stats.t.interval(0.95, 2, loc=np.mean(gains), scale=scipy.stats.sem(gains))
    interval = t_interval(gains)
    assert (interval.low, interval.high) == pytest.approx(reference, abs=1e-12)
    assert t_interval([0.1]) is None


def test_intervals_computed_together_are_those_computed_alone():
    generator = np.random.default_rng(4)
    many = [generator.random(50) for _ in range(300)] + [generator.random(7), np.ones(5), generator.random(1)]
    alone = [bootstrap_mean(values, seed=11) for values in many]
    intervals._bounds.clear()
    intervals.prepare_bootstrap(many, seed=11)
    assert len(intervals._bounds) == 302
    for values, expected in zip(many, alone, strict=True):
        found = bootstrap_mean(values, seed=11)
        if expected is None:
            assert found is None
        else:
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
