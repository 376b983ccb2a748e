"""95 % intervals of rates and means.

Every random interval is a function of its data and a seed, so that a table that is built again shows the same digits.
numpy and scipy are imported where they are used: the package itself is imported by every reward worker.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Z_95 = 1.959963984540054
RESAMPLES = 10_000
_MOST_KEPT = 4_000_000  # draws, 32 MB
_MOST_TOGETHER = 256  # means that are computed together
_MOST_REMEMBERED = 4096
# Prompt sets up to this size are resampled problem by problem.
_MOST_DRAWN = 10_000


@dataclass(frozen=True)
class Interval:
    """A two-sided interval with its level (0.95) and the method that made it."""

    low: float
    high: float
    method: str
    level: float = 0.95

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson(successes: int, n: int, z: float = Z_95) -> Interval | None:
    """Wilson score interval of a binomial rate (Wilson 1927), for counts such as 186 of 244 problems solved.

    Returns:
        None where n is 0.

    Raises:
        ValueError: not 0 ≤ successes ≤ n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no count of successes")
    if n == 0:
        return None
    rate = successes / n
    spread = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    centre = rate + z * z / (2 * n)
    # At the ends the exact bounds are 0 and 1; rounding must not move them.
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == n else (centre + spread) / scale
    return Interval(low, high, "Wilson")


def bootstrap_mean(
    values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES, level: float = 0.95
) -> Interval | None:
    """Percentile bootstrap of a mean over problems.

    Problems are drawn with replacement. Because the value of a problem already carries the noise of its samples, this
    interval covers both sources: other problems of the same kind, and other samples.

    Args:
        values: one number a problem, such as its pass@k, or its difference between two runs.

    Returns:
        None for fewer than two problems, and where all values are equal, since resampling then says nothing about the
        spread.
    """
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    if data.size < 2 or np.all(data == data[0]):
        return None
    key = (data.tobytes(), seed, resamples, level)
    if key not in _bounds:
        _keep_bounds([key], _resampled_means(data, seed, resamples)[:, None])
    low, high = _bounds[key]
    return Interval(low, high, "bootstrap over problems", level)


def prepare_bootstrap(
    many: Iterable[Sequence[float]], *, seed: int = 0, resamples: int = RESAMPLES, level: float = 0.95
) -> None:
    """Compute the bounds of many means together; `bootstrap_mean` finds them then.

    The resamples are the same for all, so that many means are one product of matrices; one by one they cost ten times as much.
    """
    import numpy as np

    by_size: dict[int, dict[_BoundsKey, np.ndarray]] = {}
    for values in many:
        data = np.asarray(values, dtype=np.float64)
        key = (data.tobytes(), seed, resamples, level)
        if 2 <= data.size <= _MOST_KEPT // resamples and key not in _bounds:
            by_size.setdefault(data.size, {})[key] = data
    for size, wanted in by_size.items():
        for start in range(0, len(wanted), _MOST_TOGETHER):
            keys = list(wanted)[start : start + _MOST_TOGETHER]
            columns = np.stack([wanted[key] for key in keys], axis=1)
            _keep_bounds(keys, _draw_counts(size, seed, resamples) @ columns / size)


_BoundsKey = tuple[bytes, int, int, float]
# A table, its figures and its page ask for the same bounds again and again.
_bounds: dict[_BoundsKey, tuple[float, float]] = {}


def _keep_bounds(keys: Sequence[_BoundsKey], means: "np.ndarray") -> None:
    """Remember the bounds of ``means`` (resamples x keys), and forget the oldest ones."""
    import numpy as np

    level = keys[0][3]
    for key, low, high in zip(keys, *np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0), strict=True):
        _bounds[key] = (float(low), float(high))
    while len(_bounds) > _MOST_REMEMBERED:
        del _bounds[next(iter(_bounds))]


def rate_interval(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval | None:
    """Interval of the mean of per-problem rates within [0, 1].

    The bootstrap over problems; where every problem has the value 0, or every one 1, Wilson's with one trial a problem (an
    upper bound of the true width). None for no problem, or for one problem or equal values in between.
    """
    if not values:
        return None
    if all(value == 0.0 for value in values) or all(value == 1.0 for value in values):
        return wilson(round(sum(values)), len(values))
    return bootstrap_mean(values, seed=seed, resamples=resamples)


def bootstrap_hierarchical(
    counts: Sequence[tuple[int, int]],
    k: int = 1,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval | None:
    """Bootstrap over problems and, within each drawn problem, over its samples, of the mean pass@k.

    A stricter companion of `bootstrap_mean`: it adds the noise of sampling once more. For k near n it leans low, because a
    sample drawn twice counts once; use it for k well below n.

    Args:
        counts: (n, c) of each problem; those with n < k are left out.

    Returns:
        None for fewer than two problems.
    """
    import numpy as np

    from kimina.evaluation.estimators import pass_at_k

    kept = [(n, c) for n, c in counts if n >= k]
    if len(kept) < 2:
        return None
    generator = np.random.default_rng(seed)
    n_P = np.array([n for n, _ in kept])
    rate_P = np.array([c / n for n, c in kept])
    # table[n][c] = pass@k; the sizes differ only where samples could not be verified.
    sizes = sorted(set(n_P.tolist()))
    row_of = {n: row for row, n in enumerate(sizes)}
    table = np.zeros((len(sizes), max(sizes) + 1))
    for n, row in row_of.items():
        table[row, : n + 1] = [pass_at_k(n, c, k) for c in range(n + 1)]
    row_P = np.array([row_of[n] for n in n_P.tolist()])
    means = np.empty(resamples)
    for start in range(0, resamples, 1000):
        block = min(1000, resamples - start)
        drawn = generator.integers(len(kept), size=(block, len(kept)))
        successes = generator.binomial(n_P[drawn], rate_P[drawn])
        means[start : start + block] = table[row_P[drawn], successes].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), "bootstrap over problems and samples", level)


def t_interval(values: Sequence[float], level: float = 0.95) -> Interval | None:
    """Student's t interval of a mean, for a handful of seeds: mean ± t_{1-α/2, m-1} · s / √m.

    Returns:
        None for fewer than two values: one seed has no spread.
    """
    from scipy.special import stdtrit

    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    reach = float(stdtrit(count - 1, (1 + level) / 2)) * math.sqrt(variance / count)
    return Interval(mean - reach, mean + reach, "Student's t over seeds", level)


def _resampled_means(data: "np.ndarray", seed: int, resamples: int) -> "np.ndarray":
    import numpy as np

    if data.size * resamples <= _MOST_KEPT:
        return _draw_counts(data.size, seed, resamples) @ data / data.size
    generator = np.random.default_rng(seed)
    if data.size > _MOST_DRAWN:
        kinds, counts = np.unique(data, return_counts=True)
        if kinds.size * 20 < data.size:
            # How often each value occurs in a resample is multinomial: the same distribution without drawing every problem.
            return generator.multinomial(data.size, counts / data.size, size=resamples) @ kinds / data.size
    means = np.empty(resamples)
    # Blocks keep the index matrix small for large prompt sets.
    block = max(1, 2_000_000 // data.size)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        means[start : start + size] = data[generator.integers(data.size, size=(size, data.size))].mean(axis=1)
    return means


@lru_cache(maxsize=4)
def _draw_counts(size: int, seed: int, resamples: int) -> "np.ndarray":
    """How often each resample draws each problem; the same for all cells of a table, and drawing costs most of the time."""
    import numpy as np

    drawn = np.random.default_rng(seed).integers(size, size=(resamples, size))
    drawn += size * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * size).reshape(resamples, size).astype(np.float64)
