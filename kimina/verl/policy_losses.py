"""The losses of ``kimina.losses`` in verl's registries, as policy losses and advantage estimators named ``kimina_NAME``.

Training workers import this when they build ``KiminaPolicyLossConfig``, the trainer by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from verl.trainer.ppo.core_algos import register_adv_est, register_policy_loss
from verl.workers.config import ActorConfig, PolicyLossConfig

from kimina.losses import LOSSES, Loss, LossSettings, Scope

PREFIX = "kimina_"


@dataclass
class KiminaPolicyLossConfig(PolicyLossConfig):
    """verl's settings of a policy loss, and ours.

    Attributes:
        tau: τ of mirror descent.
    """

    tau: float = 0.0


def group_advantages(loss: Loss, rewards_B: Sequence[float], groups_B: Sequence[Any]) -> list[float]:
    """Return each response's advantage among those of its group.

    A response that is alone in its group gets 0: it has nobody to be compared with. The trainer gives a response that
    must not count a group of its own.
    """
    members: dict[Any, list[int]] = {}
    for row, group in enumerate(groups_B):
        members.setdefault(group, []).append(row)
    advantages_B = [0.0] * len(rewards_B)
    for rows in members.values():
        if len(rows) > 1:
            for row, advantage in zip(rows, loss.advantages([rewards_B[row] for row in rows]), strict=True):
                assert advantage is not None
                advantages_B[row] = advantage
    return advantages_B


def scope_from(config: ActorConfig, loss_agg_mode: str, mask_BT: Tensor) -> Scope:
    """Return the mini-batch that a micro-batch belongs to, from what verl's ``ppo_loss`` notes in the configuration."""
    info = config.global_batch_info
    sequences, tokens = info.get("global_batch_size"), info.get("batch_num_tokens")
    if sequences is None or tokens is None:
        raise ValueError("verl told neither the mini-batch's size nor its tokens: its loss would depend on micro-batches")
    return Scope(loss_agg_mode, int(sequences), int(tokens), info.get("loss_scale_factor"), int(info.get("dp_size", 1)))


def weight_of_micro_batch(mask_BT: Tensor, scope: Scope) -> float:
    """Return what a micro-batch's mean over tokens is multiplied with: verl takes the plain mean over micro-batches.

    With M = sequences / B micro-batches of B sequences, the mean of  w_m x_m  is the mean over all tokens where
    w_m = M · tokens_m / tokens. With dynamic batching M is not known, and verl's plain mean stands.
    """
    return float(mask_BT.sum()) * scope.sequences / (mask_BT.shape[0] * max(scope.tokens, 1))


def _register(name: str, loss_class: type[Loss]) -> None:
    @register_policy_loss(f"{PREFIX}{name}")
    def policy_loss(
        old_log_prob, log_prob, advantages, response_mask, loss_agg_mode, config, rollout_is_weights=None
    ):
        loss = loss_class(
            LossSettings(
                clip_low=config.clip_ratio if config.clip_ratio_low is None else config.clip_ratio_low,
                clip_high=config.clip_ratio if config.clip_ratio_high is None else config.clip_ratio_high,
                clip_dual=config.clip_ratio_c,
                tau=config.policy_loss.tau,
            )
        )
        scope = scope_from(config, loss_agg_mode, response_mask)
        value, metrics = loss.policy_loss(log_prob, old_log_prob, advantages, response_mask, scope, rollout_is_weights)
        weight = 1.0 if config.use_dynamic_bsz else weight_of_micro_batch(response_mask, scope)
        return value, {name: weight * metric for name, metric in metrics.items()}

    @register_adv_est(f"{PREFIX}{name}")
    def advantages_of(token_level_rewards: Tensor, response_mask: Tensor, index: np.ndarray, config: Any, **_other: Any):
        loss = loss_class(LossSettings(standardise=bool(config.norm_adv_by_std_in_grpo)))
        rewards_B = token_level_rewards.double().sum(dim=-1).tolist()
        advantages_B = torch.tensor(group_advantages(loss, rewards_B, list(index)), dtype=token_level_rewards.dtype)
        advantages_BT = advantages_B.unsqueeze(-1) * response_mask
        return advantages_BT, advantages_BT


for _name, _loss_class in LOSSES.items():
    _register(_name, _loss_class)
