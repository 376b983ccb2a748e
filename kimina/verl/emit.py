"""The trainer's configuration: verl's part of a composed experiment, with our choices written into verl's keys.

This is the one place where what verl must not see is taken out. It imports neither verl nor torch.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from kimina.errors import UserError
from kimina.lean.verdict_cache import AUTO
from kimina.reward.settings import REWARD_KEYS

#: Root nodes of ours. verl's trainer never sees them.
OUR_NODES = (
    "seed",
    "name",
    "output_dir",
    "table",
    "plan",
    "sft",
    "score",
    "verify",
    "loss",
    "correction",
    "length",
    "sampling",
    "long2short",
    "verifier",
    "rollout",
    "engine",
    "cluster",
    "logger",
    "evaluation",
    "stage",
    "scale",
    "model",
    "recipe",
)

CHECKPOINTS = "checkpoints"
DEFAULT_MAX_UNVERIFIED_SHARE = 0.2
DEFAULT_KEPT_CHECKPOINTS = 2


def emit_trainer_config(
    config: DictConfig,
    *,
    out_dir: Path,
    model_path: Path | str,
    train_files: Sequence[Path | str],
    val_files: Sequence[Path | str],
) -> DictConfig:
    """Return the configuration that verl's trainer is started with, free of interpolations.

    Args:
        config: a composed experiment.
        out_dir: the run's folder; checkpoints, metrics and samples go below it, and a run in the same folder resumes.
        model_path: where the policy starts from.

    Raises:
        UserError: the configuration asks for one of verl's trainers that this project does not extend.
    """
    if not config.trainer.use_v1:
        raise UserError("trainer.use_v1=false: only verl's V1 trainers are extended here. Type: trainer.use_v1=true")
    plain = OmegaConf.to_container(config, resolve=True)
    ours = {key: plain.pop(key) for key in OUR_NODES if key in plain}
    plain.pop("hydra", None)
    our_reward = {key: plain["reward"].pop(key) for key in REWARD_KEYS if key in plain["reward"]}
    emitted = OmegaConf.create(plain)
    with open_dict(emitted):
        emitted.data.train_files = [str(Path(file).resolve()) for file in train_files]
        emitted.data.val_files = [str(Path(file).resolve()) for file in val_files]
        emitted.actor_rollout_ref.model.path = _local(model_path)
        actor = emitted.actor_rollout_ref.actor
        # verl builds this class in each training worker, and its module registers our losses there
        actor.policy_loss._target_ = "kimina.verl.policy_losses.KiminaPolicyLossConfig"
        actor.policy_loss.tau = ours["loss"].get("tau", 0.0)
        if ours["loss"]["start_kl_every"] and not actor.use_kl_loss:
            # verl makes a reference model where a loss uses it; with weight 0 it only measures
            actor.use_kl_loss, actor.kl_loss_coef = True, 0.0
        if not emitted.actor_rollout_ref.model.external_lib:
            emitted.actor_rollout_ref.model.external_lib = "kimina.verl.without_trl"
        emitted.reward.custom_reward_function = {
            "path": "pkg://kimina.verl.reward",
            "name": "compute_score",
            # verl passes these to the function; the trainer reads its own limits from the same place
            "reward_kwargs": {
                "settings": {
                    **reward_settings(ours, our_reward, model_path),
                    "keep_checkpoints": emitted.trainer.get("max_actor_ckpt_to_keep") or DEFAULT_KEPT_CHECKPOINTS,
                }
            },
        }
        agent = emitted.actor_rollout_ref.rollout.agent
        if agent.agent_loop_config_path is None:
            agent.agent_loop_config_path = str(Path(__file__).with_name(AGENT_LOOPS))
            agent.default_agent_loop = AGENT_LOOP
            # it judges by itself: verl's reward workers would start and then do nothing
            emitted.reward.num_workers = 0
        if not agent.get("agent_loop_manager_class"):
            agent.agent_loop_manager_class = AGENT_LOOP_MANAGER
        trainer = emitted.trainer
        _set_mode(trainer.v1, ours["rollout"])
        trainer.default_local_dir = str(out_dir.resolve() / CHECKPOINTS)
        trainer.resume_mode = "auto"
        if trainer.save_freq <= 0:
            # verl saves at the last step only when it saves at all; a run without a checkpoint has no result
            trainer.save_freq = 10**9
        # our trainer prunes whole checkpoints; verl would delete only the actor's part of one, before the next is
        # written, and forgets after a resume which ones there are
        trainer.max_actor_ckpt_to_keep = trainer.max_critic_ckpt_to_keep = None
        emitted.actor_rollout_ref.actor.checkpoint.save_contents = _with_model(
            emitted.actor_rollout_ref.actor.checkpoint.save_contents
        )
    return emitted


def _set_mode(v1: DictConfig, rollout: dict[str, Any]) -> None:
    """Write ``rollout`` into verl's keys."""
    v1.trainer_mode = rollout["mode"]
    if rollout["mode"] == "sync":
        return
    v1[rollout["mode"]].num_warmup_batches = rollout["extra_batches"]
    v1.sampler.max_off_policy_threshold = rollout["max_staleness"]
    v1.sampler.max_off_policy_strategy = rollout["stale"]


AGENT_LOOPS, AGENT_LOOP = "agent_loops.yaml", "kimina_proof"
AGENT_LOOP_MANAGER = "kimina.verl.agent_loop_worker.KiminaAgentLoopManager"


def reward_settings(ours: dict[str, Any], our_reward: dict[str, Any], model_path: Path | str) -> dict[str, Any]:
    """Return what those who judge and the trainer need to know about reward and verifier."""
    if ours["correction"]["name"] != "none":
        # there is feedback on a failure only if Lean was asked about it
        our_reward = {**our_reward, "verify_rejected": True}
    verifier = dict(ours["verifier"])
    if verifier.get("cache") not in (None, AUTO):
        # Ray's workers stand in other folders.
        verifier["cache"] = str(Path(verifier["cache"]).expanduser().absolute())
    limit = verifier.pop("max_unverified_share", DEFAULT_MAX_UNVERIFIED_SHARE)
    return {
        "reward": our_reward,
        "verifier": verifier,
        "think_in_prompt": bool(ours["model"]["think_in_prompt"]),
        "tokenizer": _local(model_path),
        "max_unverified_share": limit,
        "seed": int(ours["seed"]),
        **{node: ours[node] for node in ("loss", "length", "sampling", "correction", "rollout")},
    }


def _with_model(contents: Sequence[str]) -> list[str]:
    return list(contents) if "hf_model" in contents else [*contents, "hf_model"]


def _local(path: Path | str) -> str:
    """An existing folder as an absolute path; anything else is a hub name and stays as it is."""
    return str(Path(path).resolve()) if Path(path).exists() else str(path)
