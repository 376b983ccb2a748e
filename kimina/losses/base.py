"""What a loss is: how rewards become advantages, and how advantages become the number that is minimised."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from kimina.losses.advantages import Advantages, Rewards, centred, standardised
from kimina.losses.aggregation import Scope

Metrics = dict[str, float]
#: Largest |log ratio| of a token that is exponentiated; e^20 is far outside every clip range, and finite.
_LARGEST_LOG_RATIO = 20.0


@dataclass(frozen=True)
class LossSettings:
    """Numbers that a loss may read; each class says which.

    Attributes:
        standardise: divide the advantage by the group's standard deviation.
        clip_low: ε of the lower clip bound 1 − ε.
        clip_high: ε of the upper clip bound 1 + ε.
        clip_dual: c > 1, the largest ratio that counts where the advantage is negative (dual clip, arXiv 1912.09729).
        tau: τ ≥ 0 of mirror descent.
    """

    standardise: bool = False
    clip_low: float = 0.2
    clip_high: float = 0.2
    clip_dual: float = 3.0
    tau: float = 0.0


class Loss(ABC):
    """One option of ``loss=``. Tensor names carry their axes: B responses, T positions of the response."""

    name: ClassVar[str]
    #: Whether the loss is a sum of token losses, which importance weights can multiply.
    of_tokens: ClassVar[bool] = True

    def __init__(self, settings: LossSettings):
        self.settings = settings

    def advantages(self, rewards: Rewards) -> Advantages:
        """Return the advantage of each response of one group; None stays None.

        Raises:
            ValueError: fewer than two judged responses.
        """
        return standardised(rewards) if self.settings.standardise else centred(rewards)

    @abstractmethod
    def policy_loss(
        self,
        log_prob_BT: Tensor,
        old_log_prob_BT: Tensor,
        advantages_BT: Tensor,
        mask_BT: Tensor,
        scope: Scope,
        weights_BT: Tensor | None = None,
    ) -> tuple[Tensor, Metrics]:
        """Return this micro-batch's share of the loss, and metrics of it.

        Args:
            log_prob_BT: log π_θ of the sampled tokens, in nats.
            old_log_prob_BT: the same under the policy that drew them (or, with several updates, the one before them).
            advantages_BT: the response's advantage at each of its tokens.
            mask_BT: 1 where a token was sampled by the policy and counts.
            scope: the mini-batch that this is a part of.
            weights_BT: importance weights of the rollout engine's policy (verl's ``rollout_correction.rollout_is``), which
                multiply token losses.

        Raises:
            ValueError: ``weights_BT`` is given and the loss is one of whole responses.
        """


def log_ratio(log_prob_BT: Tensor, old_log_prob_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Return log π_θ − log π_old of each live token, 0 elsewhere."""
    return torch.where(mask_BT.bool(), log_prob_BT - old_log_prob_BT, 0.0)


def ratio(log_ratio_BT: Tensor) -> Tensor:
    """Return e^(log ratio), kept finite."""
    return log_ratio_BT.clamp(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO).exp()


def drift_metrics(log_ratio_BT: Tensor, mask_BT: Tensor) -> Metrics:
    """Return how far the policy is from the one that drew the responses, over the live tokens of this micro-batch.

    ``ppo_kl`` is the mean of log π_old − log π_θ in nats a token, an estimate of KL(π_old ‖ π_θ);
    ``log_prob_difference`` the mean of its absolute value. At the first update of a batch both policies have the same
    weights, so that what is left is the difference between rollout engine and trainer.
    """
    count = mask_BT.sum().clamp(min=1)
    difference = log_ratio_BT.detach()
    return {
        "actor/ppo_kl": float(-difference.sum() / count),
        "actor/log_prob_difference": float(difference.abs().sum() / count),
    }


def share(condition_BT: Tensor, mask_BT: Tensor) -> float:
    """Return the share of live tokens at which a condition holds."""
    return float((condition_BT & mask_BT.bool()).sum() / mask_BT.sum().clamp(min=1))


def refuse_weights(name: str, weights_BT: Tensor | None) -> None:
    """Refuse importance weights of tokens where the loss is one of whole responses."""
    if weights_BT is not None:
        raise ValueError(f"loss={name} is a loss of whole responses: importance weights of tokens don't apply to it")


def weighted(losses_BT: Tensor, weights_BT: Tensor | None) -> Tensor:
    """Return token losses, multiplied by importance weights where there are any."""
    return losses_BT if weights_BT is None else losses_BT * weights_BT
