"""A share of a row of places, without chance."""

from math import floor

_ROUNDING = 1e-9  # 0.29 x 100 is a little less than 29


def spaced(place: int, share: float) -> bool:
    """Whether ``place`` (counted from 0) is among the chosen: of the first n places floor(n x share) are, evenly spaced."""
    return floor((place + 1) * share + _ROUNDING) > floor(place * share + _ROUNDING)
