"""Random groups, and methods by name with their settings."""

from collections.abc import Callable

import numpy as np
import pytest

from kimina.reward.length import LengthControl, make_length_control


def _groups() -> list[tuple[list[int], list[bool]]]:
    generator = np.random.default_rng(20250122)
    found = []
    for _ in range(300):
        size = int(generator.integers(1, 17))
        lengths = generator.integers(0, int(generator.choice([2, 200, 30_000])), size).tolist()
        correct = (generator.random(size) < generator.choice([0.0, 0.3, 0.7, 1.0])).tolist()
        found.append((lengths, correct))
    return found


@pytest.fixture(scope="session")
def groups() -> list[tuple[list[int], list[bool]]]:
    """300 groups of 1 to 16 samples, as (lengths, correct): all, some or none correct; some of them equally long."""
    return _groups()


@pytest.fixture(scope="session")
def control() -> Callable[..., LengthControl]:
    """Makes a method by its name and settings."""

    def make(name: str, **settings: object) -> LengthControl:
        return make_length_control({"name": name, **settings})

    return make


@pytest.fixture(scope="session")
def agrees() -> Callable[..., None]:
    """Asserts that a method gives what a formula in float64 gives, within 1e-9, and that order does not matter."""

    def compare(method: LengthControl, reference: Callable[..., np.ndarray], lengths, correct, step=1000, budgets=None):
        got = method.rewards(lengths, correct, step, budgets)
        assert all(type(value) is float for value in got)
        columns = [np.array(lengths, dtype=np.float64), np.array(correct, dtype=bool)]
        columns += [np.array(budgets, dtype=np.float64)] if budgets is not None else []
        np.testing.assert_allclose(got, reference(*columns), rtol=1e-9, atol=1e-12)
        order = np.random.default_rng(len(lengths)).permutation(len(lengths)).tolist()
        moved = None if budgets is None else [budgets[i] for i in order]
        again = method.rewards([lengths[i] for i in order], [correct[i] for i in order], step, moved)
        np.testing.assert_allclose(again, [got[i] for i in order], rtol=1e-12, atol=1e-15)

    return compare
