"""``loss=grpo``."""

from kimina.losses.base import Loss
from kimina.losses.clipped import clipped_surrogate


class Grpo(Loss):
    """GRPO (DeepSeekMath, arXiv 2402.03300), for one reward a response.

    For a prompt with G responses o_i of |o_i| tokens:

        minimise  −(1/G) Σ_i (1/|o_i|) Σ_t min{ρ_it A_i, clip(ρ_it, 1 − ε, 1 + ε) A_i},
        A_i = (r_i − mean(r)) / std(r)

    with std unbiased and a floor added to it. The mean over |o_i| is ``loss_agg_mode=seq-mean-token-mean``. The KL term of
    the paper is verl's own setting (``use_kl_loss``).
    """

    name = "grpo"

    def policy_loss(self, log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT=None):
        return clipped_surrogate(log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, self.settings, weights_BT)
