"""``loss=drgpo``."""

import numpy as np
import pytest
import torch
from support import loss_reference as reference

from kimina.losses import LossSettings, Scope
from kimina.losses.drgpo import Drgpo

SETTINGS = LossSettings(clip_low=0.2, clip_high=0.3, clip_dual=3.0)
MODE = "seq-mean-token-sum-norm"


def test_hand_computed():
    new = torch.tensor([[0.5, 0.0], [-0.5, 9.0]], dtype=torch.float64) - 1.0
    old = torch.full((2, 2), -1.0, dtype=torch.float64)
    advantages = torch.tensor([[1.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[1, 1], [1, 0]])
    loss, _ = Drgpo(SETTINGS).policy_loss(new, old, advantages, mask, Scope.of(MODE, mask, constant=4))
    assert loss.item() == pytest.approx(-((1.3 + 1.0) - 0.8) / 2 / 4, rel=1e-12)


def test_against_the_formula(batch):
    loss, _ = Drgpo(SETTINGS).policy_loss(*batch.tensors, batch.scope(MODE))
    assert loss.item() == pytest.approx(reference.drgpo(batch.responses, 0.2, 0.3, 3.0, 11.0), rel=1e-9)


def test_advantages_are_centred_alone():
    np.testing.assert_allclose(Drgpo(SETTINGS).advantages([1.0, 0.0, 0.0, 1.0, 0.5]), [0.5, -0.5, -0.5, 0.5, 0.0], rtol=1e-12)


def test_parts_add_up(batch, check_parts):
    check_parts(Drgpo(SETTINGS), batch, MODE)


def test_a_constant_is_required():
    with pytest.raises(ValueError, match="positive constant"):
        Scope(MODE, sequences=2, tokens=5)
