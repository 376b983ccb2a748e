"""``loss=gspo``."""

import torch

from kimina.losses.base import Loss, drift_metrics, log_ratio, ratio, refuse_weights, share


class Gspo(Loss):
    """GSPO (arXiv 2507.18071, equations 5 and 7).

        minimise  −(1/G) Σ_i min{s_i A_i, clip(s_i, 1 − ε_low, 1 + ε_high) A_i},
        s_i = (π_θ(o_i|x) / π_old(o_i|x))^(1/|o_i|) = exp((1/|o_i|) Σ_t log ρ_it),   A_i = (r_i − mean(r)) / std(r)

    One ratio a response. Its gradient is s_i A_i (1/|o_i|) Σ_t ∇ log π_θ(o_it), so clip bounds are far smaller than those of
    token ratios. A response counts once, whatever its length: the aggregation is over responses.
    """

    name = "gspo"
    of_tokens = False

    def policy_loss(self, log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT=None):
        refuse_weights(self.name, weights_BT)
        log_ratio_BT = log_ratio(log_prob_BT, old_log_prob_BT, mask_BT)
        lengths_B = mask_BT.sum(dim=-1)
        ratio_B = ratio(log_ratio_BT.sum(dim=-1) / lengths_B.clamp(min=1))
        # the advantage is the same at every live token of a response; a response without any has none
        advantages_B = torch.where(mask_BT.bool(), advantages_BT, 0.0).sum(dim=-1) / lengths_B.clamp(min=1)
        plain_B = -advantages_B * ratio_B
        clipped_B = -advantages_B * ratio_B.clamp(1 - self.settings.clip_low, 1 + self.settings.clip_high)
        metrics = {
            **drift_metrics(log_ratio_BT, mask_BT),
            "actor/pg_clipfrac": share((clipped_B > plain_B).unsqueeze(-1).expand_as(mask_BT), mask_BT),
        }
        return scope.of_sequences(torch.maximum(plain_B, clipped_B)), metrics
