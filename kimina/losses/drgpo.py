"""``loss=drgpo``."""

from kimina.losses.base import Loss
from kimina.losses.clipped import clipped_surrogate


class Drgpo(Loss):
    """Dr. GRPO (arXiv 2503.20783, figure 1), the loss of the Kimina-Prover-RL recipe.

        minimise  −(1/(G L)) Σ_i Σ_t min{ρ_it A_i, clip(ρ_it, 1 − ε, 1 + ε) A_i},   A_i = r_i − mean(r)

    GRPO without the two divisions that favour short right and long wrong answers (1/|o_i|) and easy and hard prompts
    (std). L is one constant, the generation budget, as in the authors' code (``loss_agg_mode=seq-mean-token-sum-norm``
    with ``loss_scale_factor``).
    """

    name = "drgpo"

    def policy_loss(self, log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT=None):
        return clipped_surrogate(log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, self.settings, weights_BT)
