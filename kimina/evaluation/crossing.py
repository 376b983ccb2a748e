"""When a noisy curve that should rise first reaches a level."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import isotonic_regression


def first_reached(points: Sequence[tuple[float, float]], level: float) -> float | None:
    """Return the smallest x at which the curve reaches ``level``, None where it never does.

    The curve is the nondecreasing one nearest to the points, f = argmin sum_i (y_i - f(x_i))², with straight lines in
    between: a single lucky measurement doesn't count as having reached a level, as the next ones pull it down again.

    Args:
        points: (x, y) with growing x, for example rollouts and pass@1.
    """
    if not points:
        return None
    x = np.array([point[0] for point in points], dtype=float)
    fitted = isotonic_regression(np.array([point[1] for point in points], dtype=float)).x
    # the fit of equal values may differ from them by rounding
    above = np.flatnonzero(fitted >= level - 1e-12)
    if not len(above):
        return None
    after = int(above[0])
    if after == 0:
        return float(x[0])
    low, high = fitted[after - 1], fitted[after]
    return float(x[after - 1] + (level - low) / (high - low) * (x[after] - x[after - 1]))
