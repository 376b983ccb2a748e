"""pass@k, and verl's best@k, which is another quantity."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Integral

# 1 - x rounds to 1 for x < 2^-54; a margin for the rounding of the logarithm.
_ROUNDS_TO_ONE = -54.5


@lru_cache(maxsize=65536, typed=True)
def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Probability that at least one of k samples, drawn without replacement from n of which c succeed, succeeds.

    The unbiased estimator of Chen et al. 2021 (arXiv 2107.03374, section 2.1):  1 - C(n-c, k) / C(n, k), correctly rounded.
    The quotient is that of the falling factorials (n-M)_m / (n)_m with m = min(c, k) and M = max(c, k), since it is symmetric
    in c and k. It is at most (1 - M/n)^m; where that is below 2^-54 the rounded result is 1, and everywhere else m is small
    enough (m·M < 40 n) for whole numbers of any n.

    Returns:
        None where n < k: fewer samples than k (verified ones, if some could not be verified) say nothing about k.

    Raises:
        ValueError: not 0 ≤ c ≤ n, or k < 1.
    """
    _check_counts(n, c)
    if k < 1:
        raise ValueError(f"pass@k needs k ≥ 1, got {k}")
    if n < k:
        return None
    fewer, more = min(c, k), max(c, k)
    if fewer == 0:
        return 0.0
    if fewer + more > n or fewer * math.log2(1.0 - more / n) < _ROUNDS_TO_ONE:
        return 1.0
    ways = math.perm(n, fewer)
    # The division of two integers is correctly rounded, however large they are.
    return (ways - math.perm(n - more, fewer)) / ways


def exact_pass_at_k(n: int, c: int, k: int) -> Fraction | None:
    """`pass_at_k` as a fraction, with which a paired test can be exact; None where n < k."""
    if n < k:
        return None
    ways = math.comb(n, k)
    return Fraction(ways - math.comb(n - c, k), ways)


def best_at_k(n: int, c: int, k: int) -> float | None:
    """Expected best of k draws *with* replacement from n samples of which c succeed: 1 - (1 - c/n)^k.

    This is what verl's ``best@k`` metric estimates by resampling (``metric_utils.bootstrap_metric``). With k = n it lies
    below pass@k: one success among eight gives 0.656, not 1. It is never to be called pass@k.

    Returns:
        None where n is 0.

    Raises:
        ValueError: not 0 ≤ c ≤ n, or k < 1.
    """
    _check_counts(n, c)
    if k < 1:
        raise ValueError(f"best@k needs k ≥ 1, got {k}")
    if n == 0:
        return None
    return 1.0 - (1.0 - c / n) ** k


def pass_values(counts: Sequence[tuple[int, int]], k: int) -> list[float | None]:
    """Return pass@k of each problem, None where it is undefined."""
    return [pass_at_k(n, c, k) for n, c in counts]


@dataclass(frozen=True)
class MeanPassAtK:
    """The mean of pass@k over the problems for which it is defined.

    ``value`` is None where it is defined for none; ``eligible`` of ``problems`` problems took part.
    """

    k: int
    value: float | None
    eligible: int
    problems: int


def mean_pass_at_k(counts: Sequence[tuple[int, int]], k: int) -> MeanPassAtK:
    """Mean pass@k over problems.

    Args:
        counts: (n, c) of each problem: verified samples and successes among them.
        k: number of attempts.

    Raises:
        ValueError: see `pass_at_k`.
    """
    values = pass_values(counts, k)
    defined = [value for value in values if value is not None]
    mean = math.fsum(defined) / len(defined) if defined else None
    return MeanPassAtK(k=k, value=mean, eligible=len(defined), problems=len(values))


def powers_of_two(largest: int) -> list[int]:
    """Return 1, 2, 4, … up to ``largest``: the k of a pass@k curve, whose axis is logarithmic."""
    return [2**exponent for exponent in range(largest.bit_length())] if largest >= 1 else []


def percent(k: int, n: int, digits: int = 2) -> str | None:
    """Return k of n in percent as papers print it, rounded half up from the exact ratio; None where n is 0.

    Raises:
        ValueError: not 0 ≤ k ≤ n.
    """
    _check_counts(n, k)
    if n == 0:
        return None
    scaled = Fraction(k * 100 * 10**digits, n)
    rounded = int(scaled + Fraction(1, 2))
    return str(Decimal(rounded).scaleb(-digits).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))


def _check_counts(n: int, c: int) -> None:
    for number in (n, c):
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise ValueError(f"counts are whole numbers, got {number!r}")
    if not 0 <= c <= n:
        raise ValueError(f"{c} of {n} is no count of successes")
