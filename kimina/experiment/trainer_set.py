"""verl's settings that this project's trainer decides itself: what was typed there would change nothing, or fail late."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimina.experiment.complaint import complaint, key_of, words_with, words_without

_MODE, _RESUME = "trainer.v1.trainer_mode", "trainer.resume_mode"
_FILTER, _CORRECTION = "algorithm.filter_groups.enable", "algorithm.rollout_correction"
_LOG_PROBS = "actor_rollout_ref.rollout.calculate_log_probs"
_VERIFY = "reward.verify_rejected"
#: Keys that have no effect when they are typed, with who decides in their place.
WITHOUT_EFFECT = {
    "data.shuffle": "sampling= draws the prompts",
    "data.gen_batch_size": "sampling= draws the prompts, data.train_batch_size at a time",
    "data.seed": "seed= is the seed of all that is drawn",
    "trainer.v1.colocate_async.num_warmup_batches": "rollout.extra_batches is that number",
    "trainer.v1.separate_async.num_warmup_batches": "rollout.extra_batches is that number",
    "trainer.v1.sampler.max_off_policy_threshold": "rollout.max_staleness is that limit",
    "trainer.v1.sampler.max_off_policy_strategy": "rollout.stale says what happens at rollout.max_staleness",
    "actor_rollout_ref.rollout.agent.default_agent_loop": "this project's own agent loop asks fix turns and budgets",
}


def check_trainer(tree: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each typed setting without effect.

    Raises:
        UserError: a setting that this project's trainer overrides or can't work with.
    """
    _refuse_other_trainers(tree, words)
    _refuse_lost_log_probs(tree, words)
    _refuse_unsafe_checkpoints(tree, words)
    _refuse_other_prompts(tree, words)
    for key in dict.fromkeys(map(key_of, words)):
        if key in WITHOUT_EFFECT:
            yield f"{key} has no effect: {WITHOUT_EFFECT[key]}."
    correction = tree["correction"]["name"]
    if _VERIFY in map(key_of, words) and not tree["reward"]["verify_rejected"] and correction != "none":
        yield (
            f"{_VERIFY}=false has no effect with correction={correction}: Lean is asked about rejected answers all the same, "
            "because there is feedback only on what it judged."
        )


def _refuse_other_trainers(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    trainer = tree["trainer"]
    if not trainer["use_v1"]:
        raise complaint(
            "trainer.use_v1=false: only verl's V1 trainers are extended here.",
            type_line=words_with(words, "trainer.use_v1", "true"),
        )
    if trainer["v1"]["trainer_mode"] != "sync":
        raise complaint(
            f"{_MODE}={trainer['v1']['trainer_mode']}: which of verl's trainers runs is chosen by rollout=.",
            type_line=words_with(words_without(words, _MODE), "rollout", trainer["v1"]["trainer_mode"]),
        )
    hybrid, mode = "actor_rollout_ref.hybrid_engine", tree["rollout"]["mode"]
    if not tree["actor_rollout_ref"]["hybrid_engine"] and mode != "separate_async":
        raise complaint(
            f"{hybrid}=false with rollout.mode={mode}: the engine has no GPUs of its own there.",
            # set by the option rollout=separate_async, too
            type_line=words_with(words, hybrid, "true"),
        )
    if trainer["resume_mode"] != "auto":
        raise complaint(
            f"{_RESUME}={trainer['resume_mode']}: a run has a folder of its own and goes on from its last checkpoint there. "
            "To start it anew, remove that folder, which stage=plan names.",
            type_line=words_with(words, _RESUME, "auto"),
        )
    if tree["algorithm"]["filter_groups"]["enable"]:
        raise complaint(
            f"{_FILTER}=true: which prompts it draws depends on who finishes first, and it takes unverified answers for wrong "
            "ones. Groups without a difference are this project's own setting.",
            type_line=words_with(words_without(words, _FILTER), "loss.zero_variance", "resample"),
        )


def _refuse_lost_log_probs(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse corrections of the rollout engine's log-probabilities that nobody would compute."""
    correction = tree["algorithm"]["rollout_correction"]
    has_log_probs = tree["actor_rollout_ref"]["rollout"]["calculate_log_probs"]
    if correction["bypass_mode"] and not has_log_probs:
        raise complaint(
            f"{_CORRECTION}.bypass_mode=true takes the rollout engine's log-probabilities for the old policy's, and "
            f"{_LOG_PROBS}=false has it compute none.",
            type_line=words_with(words, _LOG_PROBS, "true"),
        )
    for name in ("rollout_is", "rollout_rs"):
        if correction[name] is None:
            continue
        if correction["bypass_mode"]:
            raise complaint(
                f"{_CORRECTION}.{name}={correction[name]} with {_CORRECTION}.bypass_mode=true has no effect: it corrects the "
                "difference between the rollout engine and the trainer, which bypass_mode takes for none.",
                type_line=words_with(words, f"{_CORRECTION}.bypass_mode", "false"),
            )
        if not has_log_probs:
            raise complaint(
                f"{_CORRECTION}.{name}={correction[name]} has no effect with {_LOG_PROBS}=false.",
                type_line=words_with(words, _LOG_PROBS, "true"),
            )


def _refuse_unsafe_checkpoints(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse what would let a checkpoint count as complete that isn't."""
    for key, asked, why in (
        (
            "actor_rollout_ref.actor.checkpoint.async_save",
            tree["actor_rollout_ref"]["actor"]["checkpoint"].get("async_save"),
            "a checkpoint would count as complete before it is written",
        ),
        (
            "trainer.del_local_ckpt_after_load",
            tree["trainer"]["del_local_ckpt_after_load"],
            "the checkpoint that a run goes on from would be gone before there is a newer one",
        ),
    ):
        if asked:
            raise complaint(f"{key}=true: {why}.", type_line=words_with(words, key, "false"))


def _refuse_other_prompts(tree: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse settings of prompts that fix turns and generation limits would not get."""
    correction, length = tree["correction"]["name"], tree["length"]["name"]
    kwargs, loops = "data.apply_chat_template_kwargs", "actor_rollout_ref.rollout.agent.agent_loop_config_path"
    if tree["data"]["apply_chat_template_kwargs"] and correction != "none":
        raise complaint(
            f"{kwargs} with correction={correction}: fix prompts are built without them, so the two turns would differ in format.",
            type_line=words_with(words_without(words, kwargs), "correction", "none"),
        )
    asking = f"correction={correction}" if correction != "none" else f"length={length}" if length == "thinkprune" else None
    if tree["actor_rollout_ref"]["rollout"]["agent"]["agent_loop_config_path"] is not None and asking:
        raise complaint(
            f"{loops} with {asking}: an agent loop of your own asks neither fix turns nor limits.",
            type_line=words_without(words, loops),
        )
