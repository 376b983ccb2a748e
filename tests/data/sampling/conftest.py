"""Small training sets, and rehearsals of a training run."""

import json
import random

import pytest
from scipy.stats import binom

from kimina.data.sampling import Outcome, Problem, make_sampler


@pytest.fixture
def problems():
    """So many rows; row i has difficulty i % 5."""
    return lambda count: [Problem(f"p{i}", float(i % 5)) for i in range(count)]


@pytest.fixture
def sampler(problems):
    """A sampler of an option over so many rows; keyword arguments are its keys."""

    def make(name, rows=12, seed=1, **settings):
        return make_sampler({"name": name, **settings}, problems(rows), seed)

    return make


@pytest.fixture
def train():
    """Draw and record steps as a trainer does: a batch in two draws, four attempts a row, some without a verdict.

    Whether an attempt succeeds is a function of seed, step and place, so that a run that goes on after a break sees what it
    would have seen.
    """

    def run(sampler, first, last, batch=6, seed=0):
        drawn = []
        for step in range(first, last + 1):
            rows = [*sampler.draw(step, batch - 2), *sampler.draw(step, 2)]
            rng = random.Random(f"{seed}-{step}")
            outcomes = []
            for row in rows:
                attempts = rng.choice((4, 4, 4, 3, 0))
                outcomes.append(Outcome(row, attempts, sum(rng.random() < row % 4 / 3 for _ in range(attempts))))
            sampler.record(step, outcomes)
            drawn.append(rows)
        return drawn

    return run


@pytest.fixture
def through_json():
    """A state as a checkpoint gives it back."""
    return lambda state: json.loads(json.dumps(state, allow_nan=False))


@pytest.fixture
def plausible():
    """Whether so many hits of n draws fit a probability: within the central 1 - 10^-6 of the binomial distribution."""

    def fits(hits, draws, probability):
        low, high = binom.ppf([5e-7, 1 - 5e-7], draws, probability)
        return low <= hits <= high

    return fits
