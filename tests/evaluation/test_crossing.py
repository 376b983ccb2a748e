"""When a noisy curve reaches a level: by hand, and against a brute-force nondecreasing fit."""

import itertools
import random

import pytest

from kimina.evaluation.crossing import first_reached


def test_a_rising_curve_is_read_between_its_points():
    points = [(0, 0.1), (100, 0.2), (200, 0.4)]
    assert first_reached(points, 0.2) == pytest.approx(100)
    assert first_reached(points, 0.3) == pytest.approx(150)
    assert first_reached(points, 0.05) == 0
    assert first_reached(points, 0.41) is None


def test_one_lucky_point_has_not_reached_a_level():
    # by hand: the fit pools 0.5 and 0.1 and 0.3 to 0.3
    points = [(0, 0.2), (10, 0.5), (20, 0.1), (30, 0.3), (40, 0.5)]
    assert first_reached(points, 0.5) == pytest.approx(40)
    assert first_reached(points, 0.3) == pytest.approx(10)
    assert first_reached(points, 0.4) == pytest.approx(35)


def test_nothing_is_reached_without_points():
    assert first_reached([], 0.1) is None
    assert first_reached([(7, 0.5)], 0.5) == 7 and first_reached([(7, 0.5)], 0.6) is None


@pytest.mark.parametrize("seed", range(10))
def test_the_fit_is_the_nearest_nondecreasing_one(seed):
    rng = random.Random(seed)
    values = [rng.randrange(10) / 10 for _ in range(6)]

    def means(cut):
        """Each part of the cut at its mean: every nondecreasing least-squares fit has this form."""
        parts = [values[a:b] for a, b in itertools.pairwise([0, *cut, 6])]
        return [sum(part) / len(part) for part in parts for _ in part]

    cuts = [cut for size in range(6) for cut in itertools.combinations(range(1, 6), size)]
    fits = [fit for fit in map(means, cuts) if all(a <= b + 1e-12 for a, b in itertools.pairwise(fit))]
    best = min(fits, key=lambda fit: sum((a - b) ** 2 for a, b in zip(fit, values, strict=True)))
    for level in (0.2, 0.45, 0.7):
        above = [index for index, value in enumerate(best) if value >= level - 1e-12]
        found = first_reached(list(enumerate(values)), level)
        if not above:
            assert found is None
        elif above[0] == 0:
            assert found == 0
        else:
            low, high = best[above[0] - 1], best[above[0]]
            assert found == pytest.approx(above[0] - 1 + (level - low) / (high - low))
