"""Choosing the next token from logits with numbers drawn beforehand.

Every sample owns a row of uniform numbers that depends on its seed alone. What a sample becomes therefore depends
neither on the other rows of its batch nor on the number of processes. Inverting the cumulative distribution with one
uniform number is also about ten times cheaper on a CPU than ``torch.multinomial``, which draws one number a
vocabulary entry.
"""

import hashlib
from collections.abc import Sequence

import torch

from kimina.errors import UserError


def mix_seed(*parts: int | str) -> int:
    """Return a 63-bit seed that depends on every part and on their order."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def prompt_seeds(count: int, seed: int, seeds: Sequence[int] | None = None) -> list[int]:
    """Return the seed of each of ``count`` prompts: those given, or one drawn from ``seed`` and the prompt's position.

    Raises:
        UserError: another number of seeds is given.
    """
    if seeds is None:
        return [mix_seed(seed, position) for position in range(count)]
    if len(seeds) != count:
        raise UserError(f"{len(seeds)} seeds are given for {count} prompts")
    return list(seeds)


def uniform_rows(seed: int, rows: int, columns: int) -> torch.Tensor:
    """Return uniform numbers in [0, 1), shape (rows, columns); the same seed gives the same numbers."""
    return torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed))


def choose_tokens(
    logits_BV: torch.Tensor, uniform_B: torch.Tensor, temperature: float, top_p: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the chosen tokens and their log-probabilities, both of shape (B,).

    ``temperature=0`` takes the most probable token and reports log-probabilities at temperature 1. Log-probabilities
    are those of the distribution before top-p truncation.
    """
    logits_BV = logits_BV.float()
    if temperature == 0:
        log_probs_BV = logits_BV.log_softmax(-1)
        tokens_B = logits_BV.argmax(-1)
    else:
        log_probs_BV = (logits_BV if temperature == 1 else logits_BV / temperature).log_softmax(-1)
        if top_p < 1:
            tokens_B = _invert_nucleus(log_probs_BV, uniform_B, top_p)
        else:
            tokens_B = _invert(log_probs_BV.exp().cumsum(-1), uniform_B)
    return tokens_B, log_probs_BV.gather(-1, tokens_B[:, None])[:, 0]


def _invert(cumulative_BV: torch.Tensor, uniform_B: torch.Tensor) -> torch.Tensor:
    """Return for each row the first column whose cumulative mass exceeds the row's share of the total mass."""
    threshold_B1 = (uniform_B * cumulative_BV[:, -1])[:, None]
    column_B = torch.searchsorted(cumulative_BV, threshold_B1, right=True)[:, 0]
    return column_B.clamp_(max=cumulative_BV.shape[1] - 1)


def _invert_nucleus(log_probs_BV: torch.Tensor, uniform_B: torch.Tensor, top_p: float) -> torch.Tensor:
    """Sample within the smallest set of most probable tokens whose mass reaches ``top_p``."""
    sorted_BV, order_BV = log_probs_BV.sort(-1, descending=True)
    probs_BV = sorted_BV.exp()
    mass_before_BV = probs_BV.cumsum(-1) - probs_BV
    # the first token always stays: the mass before it is 0
    cumulative_BV = probs_BV.masked_fill(mass_before_BV >= top_p, 0.0).cumsum(-1)
    return order_BV.gather(-1, _invert(cumulative_BV, uniform_B)[:, None])[:, 0]
