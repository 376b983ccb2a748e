"""PPO's clipped surrogate with token ratios, which GRPO, Dr. GRPO and DAPO share and aggregate differently."""

import torch
from torch import Tensor

from kimina.losses.aggregation import Scope
from kimina.losses.base import LossSettings, Metrics, drift_metrics, log_ratio, ratio, share, weighted


def clipped_surrogate(
    log_prob_BT: Tensor,
    old_log_prob_BT: Tensor,
    advantages_BT: Tensor,
    mask_BT: Tensor,
    scope: Scope,
    settings: LossSettings,
    weights_BT: Tensor | None = None,
) -> tuple[Tensor, Metrics]:
    """Return the share of the loss  −min{ρ_it A_it, clip(ρ_it, 1 − ε_low, 1 + ε_high) A_it}, and its metrics.

    ρ_it = π_θ / π_old of token t of response i. Where A_it < 0 the term is at most −c A_it (dual clip), so that one token
    whose probability rose many times over doesn't outweigh the batch.
    """
    log_ratio_BT = log_ratio(log_prob_BT, old_log_prob_BT, mask_BT)
    ratio_BT = ratio(log_ratio_BT)
    plain_BT = -advantages_BT * ratio_BT
    clipped_BT = -advantages_BT * ratio_BT.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    upper_BT = -advantages_BT * settings.clip_dual
    losses_BT = torch.maximum(plain_BT, clipped_BT)
    dual_BT = (advantages_BT < 0) & (losses_BT > upper_BT)
    metrics = {
        **drift_metrics(log_ratio_BT, mask_BT),
        "actor/pg_clipfrac": share(clipped_BT > plain_BT, mask_BT),
        "actor/pg_clipfrac_lower": share(dual_BT, mask_BT),
    }
    losses_BT = weighted(torch.where(dual_BT, upper_BT, losses_BT), weights_BT)
    return scope.of_tokens(losses_BT, mask_BT), metrics
