"""Checks ``rollout=``: how generation and training take turns, and what can't go together with that."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimina.experiment.complaint import complaint, key_of, words_with, words_without
from kimina.experiment.losses_set import ON_POLICY

_BYPASS, _IS = "algorithm.rollout_correction.bypass_mode", "algorithm.rollout_correction.rollout_is"
_SEGMENT, _MINI = "rollout.segment_tokens", "actor_rollout_ref.actor.ppo_mini_batch_size"
_SYNC_STEP = "trainer.v1.separate_async.parameter_sync_step"
_ASYNCHRONOUS_ONLY = ("rollout.extra_batches", "rollout.earlier_segments", "rollout.max_staleness", "rollout.stale")


def check_rollout(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each setting of ``rollout`` that changes nothing, or that a loss isn't made for.

    Raises:
        UserError: settings that can't work together.
    """
    rollout = tree["rollout"]
    if rollout["mode"] == "sync":
        yield from _check_synchronous(tree, words)
    else:
        _refuse_with_asynchronous(tree, words)
        yield from _odd_with_asynchronous(tree)
    if rollout["mode"] == "separate_async":
        _check_separate(tree, words)
    _refuse_other_buffers(tree, words)
    yield from _odd_lengths(tree)


def _refuse_other_buffers(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse a buffer of the user's own where this project brings one."""
    path = "trainer.v1.sampler.custom_sampler.path"
    mode, resamples = tree["rollout"]["mode"], tree["loss"]["zero_variance"] == "resample"
    if tree["trainer"]["v1"]["sampler"]["custom_sampler"]["path"] and (mode != "sync" or resamples):
        asked = "loss.zero_variance=resample" if mode == "sync" else f"rollout={tree['rollout']['name']}"
        raise complaint(
            f"{path} with {asked}: a buffer of this project's own stands there, which replaces groups that failed or have no "
            "difference, and yours would never be asked.",
            type_line=words_without(words, path),
        )


def _check_synchronous(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    rollout = tree["rollout"]
    if rollout["segment_tokens"] is not None:
        raise complaint(
            f"{_SEGMENT}={rollout['segment_tokens']} with rollout={rollout['name']}: a step waits for whole responses there, so "
            "none goes on in the next one.",
            type_line=words_with(words_without(words, "rollout.mode"), "rollout", "partial"),
        )
    for key in dict.fromkeys(map(key_of, words)):
        if key in _ASYNCHRONOUS_ONLY:
            yield f"{key} has no effect with rollout={rollout['name']}: each response is drawn by one version of the policy."


def _refuse_with_asynchronous(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    rollout, correction = tree["rollout"], tree["algorithm"]["rollout_correction"]
    if tree["loss"]["zero_variance"] == "resample":
        raise complaint(
            f"loss.zero_variance=resample with rollout={rollout['name']}: it draws and judges whole rounds of prompts, which "
            "needs a step that waits for all of them.",
            type_line=words_with(words, "loss.zero_variance", "mask"),
        )
    if not correction["bypass_mode"] and correction["rollout_is"] is None:
        raise complaint(
            f"{_BYPASS}=false with rollout={rollout['name']}: the trainer would take its own policy for the one that drew the "
            "responses, which may be several versions old, and nothing would weigh the difference.",
            type_line=words_with(words, _BYPASS, "true"),
        )
    loops = "actor_rollout_ref.rollout.agent.agent_loop_config_path"
    if rollout["earlier_segments"] == "excluded" and tree["actor_rollout_ref"]["rollout"]["agent"]["agent_loop_config_path"]:
        raise complaint(
            f"{loops} with rollout.earlier_segments=excluded: an agent loop of your own leaves no segment out.",
            type_line=words_without(words, loops),
        )


def _odd_with_asynchronous(tree: Mapping[str, Any]) -> Iterator[str]:
    rollout, loss = tree["rollout"], tree["loss"]["name"]
    if loss in ON_POLICY:
        yield (
            f"loss={loss} with rollout={rollout['name']}: it is on-policy and has no weight for responses that an older policy drew."
        )
    if rollout["extra_batches"] == 0:
        yield (
            f"rollout.extra_batches=0 with rollout={rollout['name']}: with no prompts beyond the step's own, each step waits for "
            "all its responses, as rollout=sync does."
        )
    elif rollout["max_staleness"] == 1:
        lost = "are dropped" if rollout["stale"] == "drop" else "are waited for"
        yield (
            f"rollout.max_staleness=1 allows no older policy than the present one: prompts that a step leaves unfinished {lost}, "
            f"and rollout.extra_batches={rollout['extra_batches']} gains nothing."
        )
    if rollout["max_staleness"] is None and rollout["stale"] != "wait":
        yield f"rollout.stale={rollout['stale']} has no effect without rollout.max_staleness."


def _check_separate(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    whole, trainer = tree["actor_rollout_ref"], tree["trainer"]
    engine = whole["rollout"]
    if trainer["device"] != "cuda":
        raise complaint(
            f"rollout={tree['rollout']['name']} with cluster={tree['cluster']['name']}: the engine needs GPUs of its own, and weights "
            "go to it over NCCL. On a CPU engine and trainer share the cores.",
            type_line=words_with(words_without(words, "rollout.mode"), "rollout", "colocate_async"),
        )
    for name in ("nnodes", "n_gpus_per_node"):
        if engine[name] < 1:
            key = f"actor_rollout_ref.rollout.{name}"
            raise complaint(
                f"{key}={engine[name]} with rollout={tree['rollout']['name']}: the engine has no GPU.",
                type_line=words_with(words, key, 1),
            )
    backend = "actor_rollout_ref.rollout.checkpoint_engine.backend"
    if engine["checkpoint_engine"]["backend"] == "naive":
        raise complaint(
            f"{backend}=naive with rollout={tree['rollout']['name']}: it hands weights over within one process.",
            type_line=words_with(words, backend, "nccl"),
        )
    steps, mini = trainer["v1"]["separate_async"]["parameter_sync_step"], whole["actor"]["ppo_mini_batch_size"]
    if tree["data"]["train_batch_size"] != steps * mini:
        raise complaint(
            f"{_SYNC_STEP}={steps} x {_MINI}={mini} is not data.train_batch_size={tree['data']['train_batch_size']}: a step is "
            "that many updates of one mini-batch each.",
            type_line=words_with(words, _SYNC_STEP, max(1, tree["data"]["train_batch_size"] // mini)),
        )


def _odd_lengths(tree: Mapping[str, Any]) -> Iterator[str]:
    rollout, longest = tree["rollout"], tree["data"]["max_response_length"]
    repetition = rollout["repetition"]
    if rollout["segment_tokens"] is not None and rollout["segment_tokens"] >= longest:
        yield f"{_SEGMENT}={rollout['segment_tokens']} cuts nothing: data.max_response_length={longest}."
    if repetition["penalty"] and not repetition["stop"]:
        yield "rollout.repetition.penalty has no effect: nothing looks for repetition while rollout.repetition.stop=false."
    if repetition["stop"] and repetition["min_tokens"] > longest:
        yield (
            f"rollout.repetition.min_tokens={repetition['min_tokens']} is more than data.max_response_length={longest}: no "
            "repetition is ever found."
        )
