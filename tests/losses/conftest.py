"""Random mini-batches in float64: unequal lengths, holes in the masks, one response without any live token."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from support.loss_reference import Response

from kimina.losses import Scope

CONSTANT = 11.0


@dataclass
class Batch:
    """The same responses as padded tensors and as lists of live tokens."""

    log_prob: torch.Tensor
    old_log_prob: torch.Tensor
    advantages: torch.Tensor
    mask: torch.Tensor

    @property
    def tensors(self):
        return self.log_prob, self.old_log_prob, self.advantages, self.mask

    @property
    def responses(self):
        found = []
        for row in range(len(self.mask)):
            live = self.mask[row].bool()
            values = self.advantages[row][live]
            found.append(
                Response(
                    self.log_prob.detach()[row][live].numpy(),
                    self.old_log_prob[row][live].numpy(),
                    float(values[0]) if len(values) else 0.0,
                )
            )
        return found

    def rows(self, chosen):
        return Batch(*(tensor[chosen] for tensor in self.tensors))

    def scope(self, mode):
        return Scope.of(mode, self.mask, CONSTANT)


def make_batch(seed, rows=12, width=9, spread=1.0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, width + 1, rows)
    mask = (np.arange(width) < lengths[:, None]) & (rng.random((rows, width)) < 0.8)
    mask[3] = False
    old = -rng.exponential(1.0, (rows, width))
    new = old + spread * rng.normal(0, 0.4, (rows, width))
    advantages = np.repeat(rng.normal(0, 1, (rows, 1)), width, axis=1) * mask
    # what stands at dead positions must not matter
    new[~mask] = 50.0
    old[~mask] = -70.0
    return Batch(
        torch.tensor(new).requires_grad_(), torch.tensor(old), torch.tensor(advantages), torch.tensor(mask).long()
    )


@pytest.fixture(params=range(6))
def batch(request):
    """Some random mini-batches, the last ones far from the old policy."""
    return make_batch(request.param, spread=1.0 if request.param < 4 else 8.0)


@pytest.fixture
def check_parts():
    """Checks that loss and gradient of the parts of a mini-batch add up to those of the whole."""

    def check(loss, batch, mode):
        scope = batch.scope(mode)
        whole, _ = loss.policy_loss(*batch.tensors, scope)
        (gradient,) = torch.autograd.grad(whole, batch.log_prob)
        for size in (1, 2, 5):
            parts, gradients = 0.0, torch.zeros_like(gradient)
            for rows in torch.arange(len(batch.mask)).split(size):
                value, _ = loss.policy_loss(*batch.rows(rows).tensors, scope)
                parts += value.detach()
                gradients += torch.autograd.grad(value, batch.log_prob)[0]
            torch.testing.assert_close(parts, whole.detach(), rtol=1e-12, atol=1e-12)
            torch.testing.assert_close(gradients, gradient, rtol=1e-12, atol=1e-12)

    return check
