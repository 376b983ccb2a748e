"""The plain policy gradient, which RLOO and ReST share."""

import torch
from torch import Tensor

from kimina.losses.aggregation import Scope
from kimina.losses.base import Metrics, drift_metrics, log_ratio, weighted


def policy_gradient(
    log_prob_BT: Tensor,
    old_log_prob_BT: Tensor,
    advantages_BT: Tensor,
    mask_BT: Tensor,
    scope: Scope,
    weights_BT: Tensor | None = None,
) -> tuple[Tensor, Metrics]:
    """Return the share of the loss  −A_i log π_θ(o_it)  of each token, and its metrics.

    Its gradient is the policy gradient only while π_θ is the policy that drew the responses: one update a batch.
    """
    live_BT = mask_BT.bool()
    losses_BT = weighted(-advantages_BT * torch.where(live_BT, log_prob_BT, 0.0), weights_BT)
    return scope.of_tokens(losses_BT, mask_BT), drift_metrics(log_ratio(log_prob_BT, old_log_prob_BT, mask_BT), mask_BT)
