"""Draws of the nano task, and what Lean says of their proofs."""

import random

import pytest

from kimina.data.nano.build import build_splits
from kimina.data.nano.families import FAMILIES, LEVELS
from kimina.data.nano.problem import realise
from kimina.experiment.compose import compose, resolved
from kimina.lean.verdict import CheckRequest, Verdict


@pytest.fixture(scope="session")
def recipe():
    """The shipped nano recipe."""
    return resolved(compose())["recipe"]


@pytest.fixture(scope="session")
def splits(recipe):
    """The splits of the shipped recipe at its own counts."""
    return build_splits(recipe["seed"], recipe["train_count"], recipe["dev_count"], recipe["test_count"])


@pytest.fixture(scope="session")
def two_of_each():
    """Two problems of every family and level."""
    rng = random.Random("two of each")
    return [
        realise(draw(rng, level), family, level, rng) for family, draw in FAMILIES.items() for level in LEVELS for _ in range(2)
    ]


@pytest.fixture(scope="session")
def verdicts(embedded):
    """The verdicts on (problem, proof) pairs."""

    def judge(pairs) -> list[Verdict]:
        requests = [CheckRequest(str(i), problem.lean(proof), problem.name) for i, (problem, proof) in enumerate(pairs)]
        return [result.verdict for result in embedded.check(requests)]

    return judge
