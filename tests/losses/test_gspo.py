"""``loss=gspo``."""

import math

import pytest
import torch
from support import loss_reference as reference

from kimina.losses import LossSettings, Scope
from kimina.losses.gspo import Gspo

SETTINGS = LossSettings(standardise=True, clip_low=3e-4, clip_high=4e-4)
MODE = "seq-mean-token-sum"


def test_hand_computed():
    # log ratios 0.2 and 0.0: s = e^0.1, clipped to 1.0004; the other response is on-policy
    new = torch.tensor([[0.2, 0.0], [0.0, 9.0]], dtype=torch.float64) - 1.0
    old = torch.full((2, 2), -1.0, dtype=torch.float64)
    advantages = torch.tensor([[1.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[1, 1], [1, 0]])
    loss, metrics = Gspo(SETTINGS).policy_loss(new, old, advantages, mask, Scope.of(MODE, mask))
    assert loss.item() == pytest.approx(-(1.0004 - 1.0) / 2, rel=1e-12)
    assert metrics["actor/pg_clipfrac"] == pytest.approx(2 / 3)


def test_against_the_formula(batch):
    loss, _ = Gspo(SETTINGS).policy_loss(*batch.tensors, batch.scope(MODE))
    assert loss.item() == pytest.approx(reference.gspo(batch.responses, 3e-4, 4e-4), rel=1e-9)


def test_the_gradient_is_the_papers():
    new = torch.tensor([[-1.0, -2.0, -0.5]], dtype=torch.float64, requires_grad=True)
    old = torch.tensor([[-1.1, -1.9, -0.6]], dtype=torch.float64)
    mask, advantages = torch.ones(1, 3).long(), torch.full((1, 3), 2.0, dtype=torch.float64)
    wide = LossSettings(clip_low=0.5, clip_high=0.5)
    loss, _ = Gspo(wide).policy_loss(new, old, advantages, mask, Scope.of(MODE, mask))
    loss.backward()
    expected = -2.0 * math.exp(0.1 / 3) / 3
    torch.testing.assert_close(new.grad, torch.full((1, 3), expected, dtype=torch.float64), rtol=1e-12, atol=0)


def test_parts_add_up(batch, check_parts):
    check_parts(Gspo(LossSettings(clip_low=0.2, clip_high=0.3)), batch, MODE)


def test_token_weights_are_refused(batch):
    with pytest.raises(ValueError, match="whole responses"):
        Gspo(SETTINGS).policy_loss(*batch.tensors, batch.scope(MODE), torch.ones_like(batch.log_prob))
