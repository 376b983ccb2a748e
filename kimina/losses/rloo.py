"""``loss=rloo``."""

from kimina.losses.advantages import Advantages, Rewards, leave_one_out
from kimina.losses.base import Loss
from kimina.losses.reinforce import policy_gradient


class Rloo(Loss):
    """REINFORCE with a leave-one-out baseline (Ahmadian et al., arXiv 2402.14740, section 3.2).

        minimise  −(1/k) Σ_i A_i log π_θ(o_i|x),   A_i = r_i − (1/(k − 1)) Σ_{j≠i} r_j

    On-policy and without clipping. Its advantage is k/(k − 1) times that of Dr. GRPO. The mean over responses is divided by
    the generation budget, which scales the gradient alone.
    """

    name = "rloo"

    def advantages(self, rewards: Rewards) -> Advantages:
        return leave_one_out(rewards)

    def policy_loss(self, log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT=None):
        return policy_gradient(log_prob_BT, old_log_prob_BT, advantages_BT, mask_BT, scope, weights_BT)
