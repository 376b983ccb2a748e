"""Prioritized sampling: probabilities of Kimi k1.5, drawn without replacement within a batch."""

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kimina.data.sampling import Outcome
from kimina.data.sampling.prioritized import priorities

CASES = Path(__file__).resolve().parents[3].parent / "shared" / "cases" / "math_cases.jsonl"


def test_probabilities_agree_with_the_shared_cases():
    if not CASES.exists():
        pytest.skip(f"the shared conformance cases are not beside this checkout ({CASES})")
    with CASES.open(encoding="utf-8") as file:
        cases = [case for case in map(json.loads, file) if case["family"] == "prioritized"]
    assert cases
    for case in cases:
        if case["expected"] == {"error": True}:
            with pytest.raises(ValueError):
                priorities(**case["input"])
        else:
            expected = case["expected"]["probabilities"]
            assert priorities(**case["input"]).tolist() == pytest.approx(expected, abs=case["tolerance"]), case["id"]


def test_probabilities_by_hand():
    assert priorities([0.25, 0.75, 1.0, 0.0]).tolist() == [0.375, 0.125, 0, 0.5]
    assert priorities([0.5, 1.0], floor=0.1).tolist() == pytest.approx([5 / 6, 1 / 6])
    assert priorities([1.0, 1.0, 1.0, 1.0]).tolist() == [0.25] * 4
    assert priorities([1.0]).tolist() == priorities([0.0]).tolist() == [1]


@pytest.mark.parametrize("rates", [[], [0.5, -0.1], [0.5, 1.1], [0.5, float("nan")], [[0.5]]])
def test_rates_that_cannot_be(rates):
    with pytest.raises(ValueError):
        priorities(rates)


def successive(weights, count):
    """P(drawn rows, in order) where each is drawn in proportion to its weight among those that are left, by enumeration."""
    found = {}
    for order in itertools.permutations(range(len(weights)), count):
        probability, left = 1.0, sum(weights)
        for row in order:
            probability *= weights[row] / left
            left -= weights[row]
        found[order] = probability
    return found


def test_a_batch_is_drawn_row_by_row_in_proportion_to_what_is_left(sampler, plausible):
    it = sampler("prioritized", rows=4, prior_successes=0, prior_attempts=1e-9)
    it.record(1, [Outcome(0, 10, 9), Outcome(1, 10, 7), Outcome(2, 10, 4), Outcome(3, 10, 0)])
    expected = successive([0.1, 0.3, 0.6, 1.0], 2)
    draws = 6000
    counts = Counter(tuple(it.draw(step, 2)) for step in range(1, draws + 1))
    assert sum(expected.values()) == pytest.approx(1) and set(counts) <= set(expected)
    for order, probability in expected.items():
        assert plausible(counts[order], draws, probability), order


def test_the_first_row_of_a_batch_follows_the_smoothed_rates(sampler, plausible):
    """(c + 1/2) / (n + 1): 8.5/9, 0.5/9, and 0.5 for the untried; priorities 0.5, 8.5 and 4.5 of 13.5."""
    it = sampler("prioritized", rows=3)
    it.record(1, [Outcome(0, 8, 8), Outcome(1, 8, 0)])
    draws = 5000
    first = Counter(it.draw(step, 1)[0] for step in range(1, draws + 1))
    for row, weight in enumerate((0.5, 8.5, 4.5)):
        assert plausible(first[row], draws, weight / 13.5)
    assert it.metrics()["effective_rows"] == pytest.approx(13.5**2 / (0.5**2 + 8.5**2 + 4.5**2))
    assert it.metrics()["mean_rate"] == pytest.approx(0.5)


def test_no_row_comes_twice_in_a_step_before_all_have_come(sampler):
    it = sampler("prioritized", rows=10)
    it.record(1, [Outcome(row, 100, 100 - row) for row in range(10)])
    for step in range(1, 30):
        rows = [*it.draw(step, 6), *it.draw(step, 3), *it.draw(step, 8)]
        assert sorted(rows[:10]) == list(range(10)) and len(set(rows[10:])) == 7


def test_solved_rows_come_last_and_in_any_order(sampler):
    it = sampler("prioritized", rows=5, prior_successes=0, prior_attempts=1e-300)
    it.record(1, [Outcome(row, 1, row != 3) for row in range(5)])
    assert priorities([1, 1, 1, 0, 1]).tolist() == [0, 0, 0, 1, 0]
    batches = [it.draw(step, 5) for step in range(1, 200)]
    assert it.metrics()["pool_size"] == 1
    assert {batch[0] for batch in batches} == {3} and {batch[1] for batch in batches} == {0, 1, 2, 4}


def test_when_all_is_solved_all_rows_are_equally_probable(sampler, plausible):
    it = sampler("prioritized", rows=4, prior_successes=1, prior_attempts=1)
    it.record(1, [Outcome(row, 8, 8) for row in range(4)])
    counts = Counter(it.draw(step, 1)[0] for step in range(1, 4001))
    assert all(plausible(counts[row], 4000, 0.25) for row in range(4))


def test_a_repeated_step_gets_its_rows_again(sampler):
    one, two = sampler("prioritized", rows=50), sampler("prioritized", rows=50)
    batches = [one.draw(step, 4) for step in (1, 2, 3, 4)]
    two.draw(9, 3)
    assert [two.draw(step, 4) for step in (4, 3, 2, 1)] == batches[::-1]


def test_a_window_forgets_the_oldest_draws(sampler):
    it = sampler("prioritized", rows=2, window=2, prior_successes=0, prior_attempts=1)
    for attempts, successes, rate in [(4, 4, 4 / 5), (4, 0, 4 / 9), (0, 0, 4 / 9), (2, 0, 0.0), (8, 8, 8 / 11), (8, 8, 16 / 17)]:
        it.record(1, [Outcome(0, attempts, successes)])
        assert it.metrics()["mean_rate"] == pytest.approx(rate)


def test_without_a_window_everything_counts(sampler):
    it = sampler("prioritized", rows=2, prior_successes=0, prior_attempts=1)
    for _ in range(300):
        it.record(1, [Outcome(0, 4, 1)])
    assert it.metrics()["mean_rate"] == pytest.approx(300 / 1201)


def test_a_floor_keeps_solved_rows_in_the_pool(sampler):
    it = sampler("prioritized", rows=10, floor=0.2)
    it.record(1, [Outcome(row, 10_000, 10_000) for row in range(5)])
    probabilities = np.array([0.2] * 5 + [0.5] * 5) / 3.5
    assert it.metrics()["effective_rows"] == pytest.approx(1 / (probabilities**2).sum())
