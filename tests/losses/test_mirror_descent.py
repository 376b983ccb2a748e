"""``loss=mirror_descent``."""

import math

import numpy as np
import pytest
import torch
from support import loss_reference as reference

from kimina.losses import LossSettings, Scope
from kimina.losses.mirror_descent import MirrorDescent, log_partition_baseline

MODE = "seq-mean-token-sum-norm"
LOSS = MirrorDescent(LossSettings(tau=0.4))


def test_hand_computed():
    # d = 0.5 and -2; rewards 1 and 0
    new = torch.tensor([[-1.0, -0.5], [-3.0, -1.0]], dtype=torch.float64, requires_grad=True)
    old = torch.tensor([[-1.0, -1.0], [-1.0, -1.0]], dtype=torch.float64)
    advantages = torch.tensor([[0.5, 0.5], [-0.5, -0.5]], dtype=torch.float64)
    mask = torch.ones(2, 2).long()
    loss, _ = LOSS.policy_loss(new, old, advantages, mask, Scope.of(MODE, mask, constant=1))
    assert loss.item() == pytest.approx(((-0.25 + 0.2 * 0.25) + (-1.0 + 0.2 * 4.0)) / 2, rel=1e-12)
    loss.backward()
    # equation 3: -(r - rbar) + tau d, for every token of a response alike, over k
    expected = torch.tensor([[(-0.5 + 0.2) / 2] * 2, [(0.5 - 0.8) / 2] * 2], dtype=torch.float64)
    torch.testing.assert_close(new.grad, expected, rtol=1e-12, atol=1e-12)


def test_against_the_formula(batch):
    loss, _ = LOSS.policy_loss(*batch.tensors, batch.scope(MODE))
    assert loss.item() == pytest.approx(reference.mirror_descent(batch.responses, 0.4, 11.0), rel=1e-9)


def test_the_squared_surrogate_has_the_same_gradient_up_to_two_tau():
    rng = np.random.default_rng(3)
    tau, k = 0.7, 6
    rewards = rng.random(k)
    new = torch.tensor(-rng.exponential(1, (k, 4)), requires_grad=True)
    old = torch.tensor(-rng.exponential(1, (k, 4)))
    mask = torch.ones(k, 4).long()
    loss_class = MirrorDescent(LossSettings(tau=tau))
    advantages = torch.tensor(loss_class.advantages(list(rewards)), dtype=torch.float64).unsqueeze(-1).expand(k, 4)
    ours, _ = loss_class.policy_loss(new, old, advantages, mask, Scope.of("seq-mean-token-sum", mask))
    residual = torch.tensor(rewards) - rewards.mean() - tau * (new - old).sum(dim=-1)
    (squared,) = torch.autograd.grad(residual.square().mean(), new)
    (gradient,) = torch.autograd.grad(ours, new)
    torch.testing.assert_close(squared, 2 * tau * gradient, rtol=1e-10, atol=1e-12)


def test_parts_add_up(batch, check_parts):
    check_parts(LOSS, batch, MODE)


def test_the_exact_baseline():
    assert log_partition_baseline([1, 0], 1.0) == pytest.approx(math.log((math.e + 1) / 2), rel=1e-12)
    # its limit is the mean, and it doesn't overflow
    assert log_partition_baseline([1, 0, 0, 1], 1e6) == pytest.approx(0.5, rel=1e-6)
    assert log_partition_baseline([1000, 0], 0.1) == pytest.approx(1000 - 0.1 * math.log(2), rel=1e-12)
    for rewards, tau in (([], 1.0), ([1, 0], 0.0)):
        with pytest.raises(ValueError, match="tau > 0"):
            log_partition_baseline(rewards, tau)
