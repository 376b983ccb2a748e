"""``loss=grpo``."""

import numpy as np
import pytest
import torch
from support import loss_reference as reference

from kimina.losses import LossSettings, Scope
from kimina.losses.grpo import Grpo

SETTINGS = LossSettings(standardise=True, clip_low=0.2, clip_high=0.3, clip_dual=3.0)


def test_hand_computed():
    # two responses of 2 and 1 tokens; ratios e^0.5 (clipped to 1.3), 1, and e^-0.5 with a negative advantage (to 0.8)
    new = torch.tensor([[0.5, 0.0], [-0.5, 9.0]], dtype=torch.float64) - 1.0
    old = torch.full((2, 2), -1.0, dtype=torch.float64)
    advantages = torch.tensor([[1.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[1, 1], [1, 0]])
    loss, metrics = Grpo(SETTINGS).policy_loss(new, old, advantages, mask, Scope.of("seq-mean-token-mean", mask))
    assert loss.item() == pytest.approx(-((1.3 + 1.0) / 2 - 0.8) / 2, rel=1e-12)
    assert metrics["actor/pg_clipfrac"] == pytest.approx(2 / 3)


def test_against_the_formula(batch):
    loss, _ = Grpo(SETTINGS).policy_loss(*batch.tensors, batch.scope("seq-mean-token-mean"))
    assert loss.item() == pytest.approx(reference.grpo(batch.responses, 0.2, 0.3, 3.0), rel=1e-9)


def test_advantages_divide_by_the_unbiased_deviation():
    rewards = [1.0, 0.0, 0.0, 0.5, 1.0]
    mean, std = reference.mean_and_std(rewards)
    np.testing.assert_allclose(Grpo(SETTINGS).advantages(rewards), [(r - mean) / (std + 1e-6) for r in rewards], rtol=1e-12)


def test_parts_add_up(batch, check_parts):
    check_parts(Grpo(SETTINGS), batch, "seq-mean-token-mean")


def test_dual_clip_bounds_what_one_token_costs():
    new, old = torch.tensor([[5.0]]), torch.tensor([[-5.0]])
    advantages, mask = torch.tensor([[-1.0]]), torch.tensor([[1]])
    loss, metrics = Grpo(SETTINGS).policy_loss(new, old, advantages, mask, Scope.of("seq-mean-token-mean", mask))
    assert loss.item() == 3.0 and metrics["actor/pg_clipfrac_lower"] == 1.0
