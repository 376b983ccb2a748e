"""How often each 95 % interval holds the truth, by simulation in float64 with fixed seeds, and agreement with statsmodels."""

import math

import numpy as np
import pytest
import scipy.stats
import statsmodels.stats.contingency_tables as tables
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from kimina.evaluation import (
    bootstrap_hierarchical,
    bootstrap_mean,
    holm,
    mcnemar,
    mean_pass_at_k,
    paired_gain,
    pass_values,
    rate_interval,
    t_interval,
    wilson,
)

RUNS = 400
# The standard error of a coverage of 95 % over 400 runs is 1.1 %; the seeds are fixed.
LEAST, MOST = 0.92, 0.98


def _problems(generator, problems, samples):
    """Counts of a benchmark of easy and hard problems, as real ones are: Beta(0.6, 0.9), mean 0.4."""
    rates = generator.beta(0.6, 0.9, size=problems)
    return [(samples, int(c)) for c in generator.binomial(samples, rates)]


def _true_pass_at_k(k):
    """E[1 - (1 - p)^k] for p ~ Beta(0.6, 0.9)."""
    return 1.0 - math.exp(
        math.lgamma(0.9 + k) - math.lgamma(0.9) + math.lgamma(1.5) - math.lgamma(1.5 + k)
    )


@pytest.mark.parametrize(("n", "rate"), [(244, 0.76), (244, 0.03), (40, 0.5), (40, 0.95)])
def test_wilson_covers_the_rate(n, rate):
    generator = np.random.default_rng(11)
    drawn = generator.binomial(n, rate, size=4000)
    simulated = float(np.mean([rate in wilson(int(c), n) for c in drawn]))
    exact = sum(scipy.stats.binom.pmf(c, n, rate) for c in range(n + 1) if rate in wilson(c, n))
    assert simulated == pytest.approx(exact, abs=0.015)
    assert 0.92 < exact < 0.98


@pytest.mark.parametrize("k", [1, 4, 8])
def test_the_bootstrap_over_problems_covers_pass_at_k(k):
    generator = np.random.default_rng(12)
    truth, hits = _true_pass_at_k(k), 0
    for run in range(RUNS):
        values = pass_values(_problems(generator, 120, 8), k)
        hits += truth in rate_interval(values, seed=run, resamples=1000)
    assert LEAST <= hits / RUNS <= MOST


def test_the_bootstrap_over_problems_and_samples_covers_pass_at_k_and_is_cautious():
    generator = np.random.default_rng(13)
    truth, hits, wider = _true_pass_at_k(2), 0, 0
    for run in range(RUNS):
        counts = _problems(generator, 120, 16)
        over_both = bootstrap_hierarchical(counts, 2, seed=run, resamples=600)
        over_problems = bootstrap_mean(pass_values(counts, 2), seed=run, resamples=600)
        hits += truth in over_both
        wider += over_both.high - over_both.low > over_problems.high - over_problems.low
    assert LEAST <= hits / RUNS <= 0.99
    assert wider / RUNS > 0.6


def test_the_interval_of_a_paired_gain_covers_the_gain():
    generator = np.random.default_rng(14)
    hits = 0
    for run in range(200):
        before = generator.beta(0.6, 0.9, size=120)
        # Each problem rises by a tenth of what it lacks: by 0.1 * (1 - 0.4) on average.
        after = before + 0.1 * (1 - before)
        pair = [generator.binomial(8, rates) / 8 for rates in (before, after)]
        hits += 0.06 in paired_gain(*(values.tolist() for values in pair), seed=run).interval
    assert LEAST <= hits / 200 <= MOST


def test_student_s_t_covers_the_mean_of_three_seeds():
    generator = np.random.default_rng(15)
    hits = sum(0.2 in t_interval(generator.normal(0.2, 0.03, size=3).tolist()) for _ in range(4000))
    assert hits / 4000 == pytest.approx(0.95, abs=0.012)


def test_intervals_of_rates_of_zero_and_one_cover_small_chances():
    # Wilson's interval for no success among 244 holds every rate that would give none with 5 % chance.
    assert 0.01 in rate_interval([0.0] * 244)
    assert 0.99 in rate_interval([1.0] * 244)


def test_bootstrap_equals_a_plain_float64_reference():
    values = np.random.default_rng(16).random(37)
    generator = np.random.default_rng(5)
    means = [math.fsum(values[row]) / 37 for row in generator.integers(37, size=(800, 37))]
    interval = bootstrap_mean(values.tolist(), seed=5, resamples=800)
    assert [interval.low, interval.high] == pytest.approx(np.quantile(means, [0.025, 0.975]).tolist(), abs=1e-14)


def test_bootstrap_agrees_with_scipy():
    values = np.random.default_rng(17).beta(0.6, 0.9, size=244)
    reference = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    interval = bootstrap_mean(values.tolist())
    assert (interval.low, interval.high) == pytest.approx((reference.low, reference.high), abs=0.002)


def test_the_hierarchical_bootstrap_equals_a_plain_reference():
    counts = _problems(np.random.default_rng(18), 60, 8)
    generator = np.random.default_rng(3)
    means = []
    for _ in range(4000):
        chosen = [counts[i] for i in generator.integers(60, size=60)]
        again = [(n, int(generator.binomial(n, c / n))) for n, c in chosen]
        means.append(mean_pass_at_k(again, 2).value)
    reference = np.quantile(means, [0.025, 0.975])
    interval = bootstrap_hierarchical(counts, 2)
    assert (interval.low, interval.high) == pytest.approx(tuple(reference), abs=0.008)


def test_a_large_prompt_set_gets_the_same_interval_without_drawing_each_problem():
    values = (np.random.default_rng(19).binomial(8, 0.3, size=20_000) / 8).tolist()
    interval = bootstrap_mean(values)
    reach = 1.959964 * np.std(values) / math.sqrt(20_000)
    assert interval.low == pytest.approx(np.mean(values) - reach, abs=2e-4)
    assert interval.high == pytest.approx(np.mean(values) + reach, abs=2e-4)
    assert bootstrap_mean(values) == interval


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 10), (178, 244), (244, 244)])
def test_wilson_agrees_with_statsmodels(successes, n):
    interval = wilson(successes, n)
    low, high = proportion_confint(successes, n, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize(("lost", "gained"), [(0, 8), (4, 12), (6, 14), (0, 0), (9, 25)])
def test_mcnemar_agrees_with_statsmodels(lost, gained):
    reference = tables.mcnemar([[50, lost], [gained, 30]], exact=True).pvalue
    assert mcnemar(lost, gained).p == pytest.approx(1.0 if lost + gained == 0 else reference, abs=1e-12)


def test_holm_and_student_agree_with_statsmodels():
    p_values = [0.01, 0.2, 0.03, 0.004, 0.9]
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), abs=1e-15)
    gains = [0.213, 0.164, 0.199]
    interval = t_interval(gains)
    assert (interval.low, interval.high) == pytest.approx(DescrStatsW(gains).tconfint_mean(0.05), abs=1e-12)
