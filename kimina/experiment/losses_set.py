"""A loss is one switch that sets several verl keys; this finds the ones that somebody set by hand to something else."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimina.experiment.complaint import complaint

ADVANTAGE_STD = "algorithm.norm_adv_by_std_in_grpo"
AGGREGATION = "actor_rollout_ref.actor.loss_agg_mode"
NORMALISER = "actor_rollout_ref.actor.loss_scale_factor"
_CONSTANT_SUM = "seq-mean-token-sum-norm"


def half_set_losses(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each half of Dr. GRPO found under another loss.

    Raises:
        UserError: ``loss=drgpo`` was asked for, and one of its parts was set to something else.
    """
    std = tree["algorithm"]["norm_adv_by_std_in_grpo"]
    aggregation = tree["actor_rollout_ref"]["actor"]["loss_agg_mode"]
    normaliser = tree["actor_rollout_ref"]["actor"]["loss_scale_factor"]
    name = tree["loss"]["name"]
    if name == "drgpo":
        _require_drgpo(std, aggregation, normaliser, words)
    elif name == "grpo":
        constant = aggregation == _CONSTANT_SUM
        if not std and not constant:
            yield (
                f"{ADVANTAGE_STD}=false with loss={name} is half of Dr. GRPO: the other half is "
                f"{AGGREGATION}={_CONSTANT_SUM} with {NORMALISER}=<max_response_length>. loss=drgpo sets both."
            )
        if constant and std:
            yield (
                f"{AGGREGATION}={_CONSTANT_SUM} with loss={name} is half of Dr. GRPO: the other half is "
                f"{ADVANTAGE_STD}=false. loss=drgpo sets both."
            )
        if constant and normaliser is None:
            yield (
                f"{AGGREGATION}={_CONSTANT_SUM} with {NORMALISER}=null divides by the padded width of each micro-batch, "
                "which is no constant; set it to data.max_response_length."
            )


def _require_drgpo(std: bool, aggregation: str, normaliser: float | None, words: Sequence[str]) -> None:
    parts = [
        (ADVANTAGE_STD, std, std is False, "false"),
        (AGGREGATION, aggregation, aggregation == _CONSTANT_SUM, _CONSTANT_SUM),
        (NORMALISER, normaliser, normaliser is not None, "a constant such as data.max_response_length"),
    ]
    for key, value, right, wanted in parts:
        if not right:
            text = "null" if value is None else str(value).lower() if isinstance(value, bool) else value
            raise complaint(
                f"{key}={text} contradicts loss=drgpo, which is {key} = {wanted}.",
                type_line=[word for word in words if word.lstrip("+").partition("=")[0] != key],
            )
