"""``loss=dapo``."""

import pytest
import torch
from support import loss_reference as reference

from kimina.losses import LossSettings, Scope
from kimina.losses.dapo import Dapo

SETTINGS = LossSettings(standardise=True, clip_low=0.2, clip_high=0.28, clip_dual=10.0)


def test_hand_computed():
    new = torch.tensor([[0.5, 0.0], [-0.5, 9.0]], dtype=torch.float64) - 1.0
    old = torch.full((2, 2), -1.0, dtype=torch.float64)
    advantages = torch.tensor([[1.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[1, 1], [1, 0]])
    loss, _ = Dapo(SETTINGS).policy_loss(new, old, advantages, mask, Scope.of("token-mean", mask))
    assert loss.item() == pytest.approx(-(1.28 + 1.0 - 0.8) / 3, rel=1e-12)


def test_against_the_formula(batch):
    loss, _ = Dapo(SETTINGS).policy_loss(*batch.tensors, batch.scope("token-mean"))
    assert loss.item() == pytest.approx(reference.dapo(batch.responses, 0.2, 0.28, 10.0), rel=1e-9)


def test_parts_add_up(batch, check_parts):
    check_parts(Dapo(SETTINGS), batch, "token-mean")
