"""``loss=rloo``."""

import numpy as np
import pytest
import torch
from support import loss_reference as reference

from kimina.losses import LossSettings
from kimina.losses.rloo import Rloo

MODE = "seq-mean-token-sum-norm"
LOSS = Rloo(LossSettings())


def test_advantages_compare_with_the_mean_of_the_others():
    np.testing.assert_allclose(LOSS.advantages([1.0, 0.0, 0.5]), [0.75, -0.75, 0.0], rtol=1e-12, atol=1e-12)
    rewards = list(np.random.default_rng(0).random(7))
    others = [r - (sum(rewards) - r) / 6 for r in rewards]
    np.testing.assert_allclose(LOSS.advantages(rewards), others, rtol=1e-9)


def test_against_the_formula(batch):
    loss, _ = LOSS.policy_loss(*batch.tensors, batch.scope(MODE))
    assert loss.item() == pytest.approx(reference.policy_gradient(batch.responses, 11.0), rel=1e-9)


def test_parts_add_up(batch, check_parts):
    check_parts(LOSS, batch, MODE)


def test_weights_multiply_token_losses(batch):
    doubled, _ = LOSS.policy_loss(*batch.tensors, batch.scope(MODE), torch.full_like(batch.log_prob, 2.0))
    plain, _ = LOSS.policy_loss(*batch.tensors, batch.scope(MODE))
    assert doubled.item() == pytest.approx(2 * plain.item(), rel=1e-12)
