"""Whether a model has room for an induction circuit, told from its sizes alone; see `kimina.sft.induction_circuit`."""

from kimina.errors import UserError

FAST_ANGLE = 0.15
"""Radians a position from which on a rotary pair tells neighbouring positions apart."""
SPAN = 100
"""Positions over which a pair that turns by less than one radian still compares content."""
LEAST_PAIRS = 2


def angle(pair: int, theta: float, head: int) -> float:
    """Radians a position by which rotary pair ``pair`` turns: entries ``pair`` and ``pair + head / 2`` of a head."""
    return theta ** (-2 * pair / head)


def rotary_pairs(theta: float, head: int) -> tuple[list[int], list[int]]:
    """Return the pairs that compare content and those that tell positions apart."""
    angles = [angle(pair, theta, head) for pair in range(head // 2)]
    slow = [pair for pair, turn in enumerate(angles) if turn * SPAN < 1]
    return slow, [pair for pair, turn in enumerate(angles) if turn > FAST_ANGLE]


def check_circuit_size(layers: int, hidden: int, head: int, theta: float) -> None:
    """Check that a model has the layers, the width and the rotary angles that the circuit needs.

    Raises:
        UserError: it has not.
    """
    remedy = "\n  type: model.architecture.copy_strength=0 for weights without the copying circuit"
    if layers < 2 or hidden < 1 + 3 * head:
        raise UserError(
            f"model.architecture.copy_strength: the copying circuit needs 2 layers and hidden_size > 3 x head_dim; "
            f"there are layers={layers}, hidden_size={hidden}, head_dim={head}" + remedy
        )
    slow, fast = map(len, rotary_pairs(theta, head))
    if min(slow, fast) < LEAST_PAIRS:
        raise UserError(
            f"model.architecture.copy_strength: of {head // 2} rotary pairs {fast} tell positions apart and {slow} compare "
            f"content; {LEAST_PAIRS} of each are needed: choose a larger head_dim or rope_theta=100000" + remedy
        )
