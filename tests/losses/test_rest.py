"""``loss=rest``."""

import pytest
from support import loss_reference as reference

from kimina.losses import LossSettings
from kimina.losses.rest import Rest

MODE = "seq-mean-token-sum-norm"
LOSS = Rest(LossSettings())


def test_only_what_earned_a_reward_counts():
    assert LOSS.advantages([1.0, 0.0, -0.5, None, 0.25]) == [1.0, 0.0, 0.0, None, 0.25]


def test_against_the_formula(batch):
    loss, _ = LOSS.policy_loss(*batch.tensors, batch.scope(MODE))
    assert loss.item() == pytest.approx(reference.policy_gradient(batch.responses, 11.0), rel=1e-9)


def test_parts_add_up(batch, check_parts):
    check_parts(LOSS, batch, MODE)
