"""``loss=dapo``."""

from kimina.losses.base import Loss
from kimina.losses.clipped import clipped_surrogate


class Dapo(Loss):
    """DAPO (arXiv 2503.14476, equation 8).

        minimise  −(1/Σ_i |o_i|) Σ_i Σ_t min{ρ_it A_i, clip(ρ_it, 1 − ε_low, 1 + ε_high) A_i},
        A_i = (r_i − mean(r)) / std(r),   subject to 0 < number of right answers < G

    ε_high above ε_low leaves rare tokens room to grow (clip-higher), every token of the batch weighs the same
    (``loss_agg_mode=token-mean``), and groups without a difference are drawn anew (``loss.zero_variance=resample``, dynamic
    sampling). Its soft punishment of overlong answers is ``length=overlong``.
    """

    name = "dapo"

    def policy_loss(self, log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT=None):
        return clipped_surrogate(log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, self.settings, weights_BT)
