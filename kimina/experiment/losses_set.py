"""A loss is one switch that sets several verl keys; this finds the ones that somebody set by hand to something else.

It also refuses settings under which the gradient would depend on how a batch is cut into micro-batches.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimina.experiment.complaint import complaint, words_with, words_without

ADVANTAGE_STD = "algorithm.norm_adv_by_std_in_grpo"
AGGREGATION = "actor_rollout_ref.actor.loss_agg_mode"
NORMALISER = "actor_rollout_ref.actor.loss_scale_factor"
LOSS_MODE = "actor_rollout_ref.actor.policy_loss.loss_mode"
_CONSTANT_SUM = "seq-mean-token-sum-norm"
#: verl's own losses whose result depends on the micro-batches, with what they do (verl 0.9.1).
DEPENDS_ON_MICRO_BATCHES = {
    "clip_cov": "it picks tokens by their rank within one micro-batch",
    "kl_cov": "it picks tokens by their rank within one micro-batch",
    "geo_mean": "it divides by the responses of one micro-batch",
    "bypass_mode": "it fails where all responses of one micro-batch are masked, as unverified ones are",
}
#: Losses of whole responses: importance weights of tokens don't apply to them.
_OF_RESPONSES = ("mirror_descent", "gspo")
_CLIP = "actor_rollout_ref.actor.clip_ratio"
#: Settings that a loss doesn't read.
_UNREAD = {
    "mirror_descent": (_CLIP, f"{_CLIP}_low", f"{_CLIP}_high", f"{_CLIP}_c"),
    "rloo": (_CLIP, f"{_CLIP}_low", f"{_CLIP}_high", f"{_CLIP}_c", ADVANTAGE_STD),
    "rest": (_CLIP, f"{_CLIP}_low", f"{_CLIP}_high", f"{_CLIP}_c", ADVANTAGE_STD),
    "gspo": (f"{_CLIP}_c",),
}
#: Losses whose gradient is right only for responses of the present policy, so at the first update of a batch.
ON_POLICY = ("rloo", "rest")


def half_set_losses(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each half of Dr. GRPO found under another loss, and for updates that a loss isn't made for.

    Raises:
        UserError: a part of the chosen loss was set to something else, or the gradient would depend on micro-batches.
    """
    actor, algorithm = tree["actor_rollout_ref"]["actor"], tree["algorithm"]
    std, aggregation, normaliser = (
        algorithm["norm_adv_by_std_in_grpo"],
        actor["loss_agg_mode"],
        actor["loss_scale_factor"],
    )
    name = tree["loss"]["name"]
    _refuse_dependence(tree, words)
    yield from _not_the_loss(tree)
    yield from _unread(tree, words)
    if name == "drgpo":
        _require_drgpo(std, aggregation, normaliser, words)
    elif name == "grpo":
        yield from _half_drgpo(name, std, aggregation)
    if name in _OF_RESPONSES and algorithm["rollout_correction"]["rollout_is"] is not None:
        key = "algorithm.rollout_correction.rollout_is"
        raise complaint(
            f"{key}={algorithm['rollout_correction']['rollout_is']} weighs single tokens, and loss={name} is one of whole "
            "responses.",
            type_line=words_with(words, key, "null"),
        )
    yield from _equal_groups(tree)
    updates = tree["data"]["train_batch_size"] // actor["ppo_mini_batch_size"] * actor["ppo_epochs"]
    if name == "mirror_descent" and updates == 1:
        yield (
            "loss=mirror_descent with one update a step: the log ratio to the policy that drew the responses is zero then, "
            "so loss.tau has no effect. More updates: actor_rollout_ref.actor.ppo_epochs=2, or a smaller "
            "actor_rollout_ref.actor.ppo_mini_batch_size."
        )
    if name in ON_POLICY and updates > 1:
        yield (
            f"loss={name} with {updates} updates a step: it is on-policy, so only the first of them has the right gradient. "
            f"One update: actor_rollout_ref.actor.ppo_mini_batch_size={tree['data']['train_batch_size']} "
            "actor_rollout_ref.actor.ppo_epochs=1."
        )


def _refuse_dependence(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    actor = tree["actor_rollout_ref"]["actor"]
    mode = actor["policy_loss"]["loss_mode"]
    if mode in DEPENDS_ON_MICRO_BATCHES:
        raise complaint(
            f"{LOSS_MODE}={mode}: what it computes depends on how the batch is cut into micro-batches: "
            f"{DEPENDS_ON_MICRO_BATCHES[mode]}.",
            type_line=words_without(words, LOSS_MODE),
        )
    if actor["loss_agg_mode"] == _CONSTANT_SUM and actor["loss_scale_factor"] is None and tree["loss"]["name"] != "drgpo":
        raise complaint(
            f"{AGGREGATION}={_CONSTANT_SUM} with {NORMALISER}=null divides by the padded width of each micro-batch, which is "
            "no constant, so the gradient would depend on how the batch is cut.",
            type_line=words_with(words, NORMALISER, tree["data"]["max_response_length"]),
        )


def _not_the_loss(tree: Mapping[str, Any]) -> Iterator[str]:
    """Warn where another loss or advantage of verl's stands in the place of the chosen one's."""
    name, wanted = tree["loss"]["name"], f"kimina_{tree['loss']['name']}"
    for key, value, what in (
        (LOSS_MODE, tree["actor_rollout_ref"]["actor"]["policy_loss"]["loss_mode"], "loss"),
        ("algorithm.adv_estimator", tree["algorithm"]["adv_estimator"], "advantage"),
    ):
        if value != wanted:
            yield f"{key}={value} with loss={name}: the {what} is {value}'s then, and not that of loss={name} ({key}={wanted})."


def _unread(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    """Warn of settings that change nothing."""
    name, actor = tree["loss"]["name"], tree["actor_rollout_ref"]["actor"]
    typed = [word.lstrip("+").partition("=")[0] for word in words]
    unread = [key for key in dict.fromkeys(typed) if key in _UNREAD.get(name, ())]
    if unread:
        yield f"{', '.join(unread)} {'has' if len(unread) == 1 else 'have'} no effect: loss={name} doesn't read it."
    elif _CLIP in typed and None not in (actor["clip_ratio_low"], actor["clip_ratio_high"]):
        yield f"{_CLIP} has no effect beside {_CLIP}_low={actor['clip_ratio_low']} and {_CLIP}_high={actor['clip_ratio_high']}; set these."
    if name in _OF_RESPONSES and actor["loss_agg_mode"] in ("token-mean", "seq-mean-token-mean"):
        yield (
            f"{AGGREGATION}={actor['loss_agg_mode']} with loss={name}: it is a loss of whole responses, so that their mean is "
            "taken all the same."
        )
    if actor["use_kl_loss"] and actor["kl_loss_coef"] == 0:
        key = "actor_rollout_ref.actor.kl_loss_coef"
        yield f"actor_rollout_ref.actor.use_kl_loss=true with {key}=0: the divergence counts for nothing. The recipe of GRPO: {key}=0.04"


def _equal_groups(tree: Mapping[str, Any]) -> Iterator[str]:
    """Warn where groups are left out that would give a gradient."""
    zero_variance, name, length = tree["loss"]["zero_variance"], tree["loss"]["name"], tree["length"]["name"]
    if name == "rest" and zero_variance != "keep":
        yield (
            f"loss.zero_variance={zero_variance} with loss=rest: its gradient comes from right answers alone, without a "
            "comparison, and prompts that are always solved are left out then."
        )
    if zero_variance == "resample" and length not in ("none", "overlong"):
        yield (
            f"loss.zero_variance=resample with length={length}: as in DAPO, groups are judged by their proofs, so that prompts "
            "that are always solved are drawn anew although their length rewards differ. To learn from these: "
            "loss.zero_variance=mask"
        )


def _half_drgpo(name: str, std: bool, aggregation: str) -> Iterator[str]:
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


def _require_drgpo(std: bool, aggregation: str, normaliser: float | None, words: Sequence[str]) -> None:
    parts = [
        (ADVANTAGE_STD, std, std is False, "false"),
        (AGGREGATION, aggregation, aggregation == _CONSTANT_SUM, _CONSTANT_SUM),
        (NORMALISER, normaliser, normaliser is not None, "a constant such as data.max_response_length"),
    ]
    for key, value, right, wanted in parts:
        if not right:
            text = "null" if value is None else str(value).lower() if isinstance(value, bool) else value
            raise complaint(f"{key}={text} contradicts loss=drgpo, which is {key} = {wanted}.", type_line=words_without(words, key))
