"""``loss=rest``."""

from kimina.losses.advantages import Advantages, Rewards, positive_part
from kimina.losses.base import Loss
from kimina.losses.reinforce import policy_gradient


class Rest(Loss):
    """Positives only, without negative gradients: the baseline of Kimi k1.5, figure 10 (after ReST, arXiv 2308.08998).

        minimise  −(1/k) Σ_j max(r_j, 0) log π_θ(y_j, z_j|x)

    Right answers are imitated, wrong ones ignored; there is no baseline, so a prompt that is always solved still gives a
    gradient. The mean over responses is divided by the generation budget, which scales the gradient alone.
    """

    name = "rest"

    def advantages(self, rewards: Rewards) -> Advantages:
        return positive_part(rewards)

    def policy_loss(self, log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT=None):
        return policy_gradient(log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT)
