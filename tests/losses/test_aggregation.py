"""Aggregation of token losses."""

import math

import pytest
import torch

from kimina.losses.aggregation import MODES, Scope

LOSSES = torch.tensor([[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 9.0, 9.0]], dtype=torch.float64)
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("token-mean", 14 / 6), ("seq-mean-token-sum", 7.0), ("seq-mean-token-sum-norm", 1.75), ("seq-mean-token-mean", 2.25)],
)
def test_hand_computed(mode, expected):
    assert float(Scope.of(mode, MASK, 4).of_tokens(LOSSES, MASK)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_padding_does_not_matter_nor_what_stands_in_it(mode):
    wide, mask = torch.full((2, 9), math.nan, dtype=torch.float64), torch.zeros(2, 9).long()
    wide[:, :4], mask[:, :4] = LOSSES, MASK
    narrow = Scope.of(mode, MASK, 4).of_tokens(LOSSES, MASK)
    assert float(Scope.of(mode, mask, 4).of_tokens(wide, mask)) == float(narrow)


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_without_live_tokens_is_zero(mode):
    nothing = torch.zeros_like(MASK)
    assert float(Scope.of(mode, nothing, 4).of_tokens(LOSSES, nothing)) == 0.0


@pytest.mark.parametrize("mode", MODES)
def test_two_workers_average_to_one(mode):
    scope = Scope(mode, sequences=2, tokens=6, constant=4, workers=2)
    halves = [float(scope.of_tokens(LOSSES[row : row + 1], MASK[row : row + 1])) for row in range(2)]
    assert sum(halves) / 2 == pytest.approx(float(Scope.of(mode, MASK, 4).of_tokens(LOSSES, MASK)), rel=1e-12)


def test_unknown_mode():
    with pytest.raises(ValueError, match="token-median is none of token-mean"):
        Scope("token-median", 1, 1)
