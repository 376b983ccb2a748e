"""``loss=mirror_descent``."""

import math
from collections.abc import Sequence

import torch

from kimina.losses.base import Loss, drift_metrics, log_ratio, refuse_weights


class MirrorDescent(Loss):
    """Online policy mirror descent of Kimi k1.5 (section 2.3.2, equation 3).

    For a prompt with k responses (y_j, z_j) drawn from the policy π_i at the start of the iteration:

        minimise  (1/k) Σ_j [ −(r_j − r̄) d_j + (τ/2) d_j² ],   d_j = log π_θ(y_j, z_j|x) − log π_i(y_j, z_j|x)

    d_j is the whole response's log ratio, r̄ the mean reward of the group. The gradient is the negative of the paper's
    equation 3, and 1/(2τ) of the gradient of its squared surrogate (1/k) Σ_j (r_j − r̄ − τ d_j)². No clipping, no division
    by the standard deviation nor by the length.

    d_j is 0 at an iteration's first update, so τ acts from the second one on. The mean over responses may be divided by
    one constant (``loss_scale_factor``); that scales the gradient and leaves the minimiser where it is.
    """

    name = "mirror_descent"
    of_tokens = False

    def policy_loss(self, log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT=None):
        refuse_weights(self.name, weights_BT)
        log_ratio_BT = log_ratio(log_prob_BT, old_log_prob_BT, mask_BT)
        log_ratio_B = log_ratio_BT.sum(dim=-1)
        # the advantage is the same at every live token of a response, so this is (r_j − r̄) d_j
        linear_B = (torch.where(mask_BT.bool(), advantages_BT, 0.0) * log_ratio_BT).sum(dim=-1)
        quadratic_B = self.settings.tau / 2 * log_ratio_B.square()
        metrics = {
            **drift_metrics(log_ratio_BT, mask_BT),
            "actor/sequence_log_ratio": float(log_ratio_B.detach().abs().mean()),
            "actor/mirror_penalty": float(quadratic_B.detach().mean()),
        }
        return scope.of_sequences(quadratic_B - linear_B), metrics


def log_partition_baseline(rewards: Sequence[float], tau: float) -> float:
    """Return τ log Z ≈ τ log((1/k) Σ_j exp(r_j/τ)), for which the paper takes the mean reward r̄ (its limit for τ → ∞).

    Raises:
        ValueError: no rewards, or τ ≤ 0.
    """
    if not rewards or not tau > 0:
        raise ValueError(f"the baseline needs rewards and tau > 0: {list(rewards)}, tau={tau}")
    largest = max(rewards)
    mean = math.fsum(math.exp((reward - largest) / tau) for reward in rewards) / len(rewards)
    return largest + tau * math.log(mean)
