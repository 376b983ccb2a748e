"""Paired comparisons of two runs on the same problems.

Differences between problems are much larger than differences between runs, so two runs are never compared through their
separate intervals: each problem is its own control (papers: Miller 2024, arXiv 2411.00640, section on paired analysis).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kimina.evaluation.intervals import Interval, bootstrap_mean

SIGNIFICANCE = 0.05
_GRID = 2**18
_MOST_ENUMERATED = 16


@dataclass(frozen=True)
class McNemar:
    """Counts of the problems on which two runs disagree, and the exact two-sided p-value."""

    only_before: int
    only_after: int
    p: float


@dataclass(frozen=True)
class PairedGain:
    """Mean of after - before over problems, in the unit of its input (rates: 0.1 is ten points).

    ``interval`` is None where the problems are fewer than two or all differ by the same amount.
    """

    gain: float
    interval: Interval | None
    p: float
    test: str
    problems: int

    @property
    def verdict(self) -> str:
        """``higher``, ``lower`` or ``not distinguishable`` at the 5 % level."""
        return verdict(self.gain, self.p)


def mcnemar(only_before: int, only_after: int) -> McNemar:
    """Exact two-sided McNemar test: under no difference the disagreements are Binomial(m, 1/2).

    p = min(1, 2 · P(X ≤ min(only_before, only_after))); no disagreement gives 1.

    Raises:
        ValueError: a negative count.
    """
    if only_before < 0 or only_after < 0:
        raise ValueError(f"counts of problems cannot be negative: {only_before}, {only_after}")
    trials = only_before + only_after
    tail = sum(math.comb(trials, i) for i in range(min(only_before, only_after) + 1))
    return McNemar(only_before, only_after, min(1.0, 2 * tail / 2**trials))


def mcnemar_solved(before: Sequence[bool], after: Sequence[bool]) -> McNemar:
    """McNemar's test on 'solved' per problem, in the same order, where solved may mean by any of n samples.

    Raises:
        ValueError: the two runs have not the same number of problems.
    """
    pairs = list(zip(before, after, strict=True))
    return mcnemar(sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs))


def sign_flip_test(differences: Sequence[float | Fraction]) -> tuple[float, str]:
    """Two-sided p-value of a mean of paired differences, by flipping their signs.

    If the two runs were alike, each difference could as well have had the other sign. p is the share of all sign patterns
    whose sum is at least as far from 0 as the one observed. It is computed, not sampled: patterns are enumerated where the
    differences are few, else the distribution of the sum is built by convolution, which needs whole numbers. Fractions of a
    moderate common denominator (rates of the same n) are whole numbers after scaling; other differences are rounded to a
    grid of 2^18 steps over the sum of their sizes. Rounding treats both signs alike, so the test stays valid; p can only
    differ from that of the unrounded differences in digits that nobody reads.

    Returns:
        (p, name of the variant that was used).
    """
    nonzero = [difference for difference in differences if difference != 0]
    if not nonzero:
        return 1.0, "exact sign-flip test"
    if all(isinstance(difference, (Fraction, int)) for difference in nonzero):
        scale = math.lcm(*(Fraction(difference).denominator for difference in nonzero))
        steps = [int(difference * scale) for difference in nonzero]
        divisor = math.gcd(*steps)
        if sum(map(abs, steps)) // divisor <= _GRID:
            return _tail([step // divisor for step in steps]), "exact sign-flip test"
    values = [float(difference) for difference in nonzero]
    if len(values) <= _MOST_ENUMERATED:
        return _enumerated_tail(values), "exact sign-flip test"
    unit = math.fsum(map(abs, values)) / _GRID
    return _tail([round(value / unit) for value in values]), "sign-flip test on a grid of 2^18 steps"


def paired_gain(
    before: Sequence[float | Fraction | None], after: Sequence[float | Fraction | None], *, seed: int = 0
) -> PairedGain | None:
    """Compare two runs by a number a problem, in the same order; problems where either is None are left out.

    Rates given as `Fraction` (c/n) get the exact test. The interval is the bootstrap over problems of the mean difference.

    Returns:
        None where no problem has both numbers.

    Raises:
        ValueError: the two runs have not the same number of problems.
    """
    differences = [b - a for a, b in zip(before, after, strict=True) if a is not None and b is not None]
    if not differences:
        return None
    p, test = sign_flip_test(differences)
    values = [float(difference) for difference in differences]
    return PairedGain(
        gain=math.fsum(values) / len(values),
        interval=bootstrap_mean(values, seed=seed),
        p=p,
        test=test,
        problems=len(values),
    )


def paired_t(differences: Sequence[float]) -> float | None:
    """Two-sided p-value of Student's paired t test; None for fewer than two differences or none that varies."""
    from scipy.special import stdtr

    count = len(differences)
    if count < 2:
        return None
    mean = math.fsum(differences) / count
    variance = math.fsum((difference - mean) ** 2 for difference in differences) / (count - 1)
    if variance == 0.0:
        return None
    return float(2 * stdtr(count - 1, -abs(mean) / math.sqrt(variance / count)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given, for the several tests of one grouping (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def verdict(gain: float, p: float) -> str:
    """Return ``higher``, ``lower`` or ``not distinguishable`` at the 5 % level."""
    if p >= SIGNIFICANCE or gain == 0:
        return "not distinguishable"
    return "higher" if gain > 0 else "lower"


def _tail(steps: list[int]) -> float:
    import numpy as np

    sizes = [abs(step) for step in steps]
    total = sum(sizes)
    # chance[s] = P(sum of the sizes with a plus sign = s); the signed sum is then 2 s - total.
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    reached = 0
    for size in sizes:
        shifted = 0.5 * chance[: reached + 1]
        chance[: reached + 1] *= 0.5
        chance[size : size + reached + 1] += shifted
        reached += size
    signed = 2 * np.arange(total + 1) - total
    return min(1.0, float(chance[np.abs(signed) >= abs(sum(steps))].sum()))


def _enumerated_tail(values: list[float]) -> float:
    import numpy as np

    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    # Sums that are equal in exact arithmetic must not be told apart by rounding.
    threshold = abs(math.fsum(values)) - 1e-12 * math.fsum(map(abs, values))
    return float(np.mean(np.abs(sums) >= threshold))
