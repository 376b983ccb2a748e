"""``stage=plan``: what a composition would do and cost, computed from the configuration alone.

Nothing here needs a GPU, Ray or a network. Figures that nobody can know beforehand (generation and verification rates,
mean response length) come from the configuration and are called assumptions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from omegaconf import DictConfig, OmegaConf

from kimina.experiment.compose import Composition, resolved
from kimina.experiment.keys import leaves, verl_defaults
from kimina.experiment.options import GROUPS
from kimina.experiment.preflight import value_at

#: Stages of a whole experiment, in the order in which they run, and what each makes.
STAGES: dict[str, str] = {
    "data": "prompt sets for training, development and test",
    "sft": "warm start",
    "rl": "policy trained by reinforcement learning",
    "eval": "pass@k of the model before and after",
    "table": "table with intervals, figures and report page",
}
_BYTES_PER_PARAMETER = 16  # fp32 weights, two fp32 moments of Adam, and the exported weights


@dataclass(frozen=True)
class BatchArithmetic:
    """How one step's responses are cut up. Batch sizes count prompts where verl's do, responses where the name says so."""

    prompts: int
    group_size: int
    responses: int
    mini_batch_prompts: int
    mini_batch_responses: int
    optimiser_updates: int
    workers: int
    micro_batch_responses: int | None
    gradient_accumulation: int | None


@dataclass(frozen=True)
class Steps:
    """Length of the run. ``train_rows`` is the recipe's own count."""

    train_rows: int
    per_epoch: int
    epochs: int
    total: int
    epochs_done: float
    validations: int
    checkpoints: int


@dataclass(frozen=True)
class StepCost:
    """Tokens, proofs and seconds of one step. ``assumed_*`` are inputs, not measurements.

    Tokens are those of the model's own tokenizer. ``*_at_most`` are upper bounds: every prompt and response at its limit.
    """

    prompt_tokens_at_most: int
    response_tokens_at_most: int
    tokens_at_most: int
    assumed_tokens_per_response: float | None
    assumed_tokens_per_second: float | None
    generation_seconds: float | None
    proofs_at_most: int
    assumed_proofs_per_second: float
    verification_seconds: float
    proofs_per_second_to_keep_up: float | None


@dataclass(frozen=True)
class Plan:
    """Everything that the report shows."""

    name: str
    choices: dict[str, str]
    stages: dict[str, str]
    batch: BatchArithmetic
    steps: Steps
    step_cost: StepCost
    evaluation: dict[str, Any]
    checkpoint_bytes: int
    checkpoints_kept: int
    verl_settings: dict[str, dict[str, Any]]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return asdict(self)


def make_plan(composition: Composition) -> Plan:
    """Compute the plan of a validated composition."""
    tree = resolved(composition.config)
    batch = batch_arithmetic(tree)
    steps = _steps(tree, batch)
    return Plan(
        name=tree["name"],
        choices=chosen_options(tree),
        stages=planned_stages(tree),
        batch=batch,
        steps=steps,
        step_cost=_step_cost(tree, batch),
        evaluation=_evaluation(tree),
        checkpoint_bytes=tree["model"]["parameters"] * _BYTES_PER_PARAMETER,
        checkpoints_kept=min(steps.checkpoints, tree["trainer"]["max_actor_ckpt_to_keep"] or steps.checkpoints),
        verl_settings=changed_settings(composition.config, tree),
        warnings=composition.warnings,
    )


def chosen_options(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return the option of each group that the configuration carries."""
    found = {group: value_at(tree, f"{group}.name") for group in GROUPS}
    found["data"], found["reward"] = tree["recipe"]["name"], tree["reward"]["profile"]
    return {group: option for group, option in found.items() if option is not None}


def planned_stages(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return the stages that would run (the one asked for and all before it; ``plan`` stands for all), and what each makes."""
    asked = tree["stage"]["name"]
    order = list(STAGES)
    names = order[: order.index(asked) + 1] if asked in order else order
    evaluation = tree["evaluation"]
    if asked == "eval" and evaluation["model"] not in (None, "trained"):
        # One model by itself; the one that RL starts from may have to be made.
        needed = {"eval"} | ({"data"} if evaluation["prompts"] is None else set())
        names = [name for name in names if name in needed | ({"data", "sft"} if evaluation["model"] == "start" else set())]
    if asked == "card":
        names = order[: order.index("eval") + 1]
    if not tree["sft"]["enabled"]:
        names = [name for name in names if name != "sft"]
    stages = {name: STAGES[name] for name in names}
    if asked == "card":
        stages["card"] = "model card of the trained model"
    if "sft" in stages and tree["sft"]["prepared"]:
        stages["sft"] += f", taken from {tree['sft']['prepared']}"
    return stages


def batch_arithmetic(tree: Mapping[str, Any]) -> BatchArithmetic:
    """Cut one step's batch into updates and micro-batches, as verl's V1 trainer does."""
    actor = tree["actor_rollout_ref"]["actor"]
    prompts, n = tree["data"]["train_batch_size"], tree["actor_rollout_ref"]["rollout"]["n"]
    mini, workers = actor["ppo_mini_batch_size"], tree["trainer"]["n_gpus_per_node"] * tree["trainer"]["nnodes"]
    micro = None if actor["use_dynamic_bsz"] else actor["ppo_micro_batch_size_per_gpu"]
    return BatchArithmetic(
        prompts=prompts,
        group_size=n,
        responses=prompts * n,
        mini_batch_prompts=mini,
        mini_batch_responses=mini * n,
        optimiser_updates=prompts // mini * actor["ppo_epochs"],
        workers=workers,
        micro_batch_responses=micro,
        gradient_accumulation=None if micro is None else mini * n // workers // micro,
    )


def _steps(tree: Mapping[str, Any], batch: BatchArithmetic) -> Steps:
    trainer, rows = tree["trainer"], tree["recipe"]["train_count"]
    if tree["data"]["train_max_samples"] > 0:
        rows = min(rows, tree["data"]["train_max_samples"])
    per_epoch = rows // batch.prompts  # verl drops the last, incomplete batch
    total = per_epoch * trainer["total_epochs"]
    if trainer["total_training_steps"] is not None:
        total = min(trainer["total_training_steps"], total)
    validations = total // trainer["test_freq"] if trainer["test_freq"] > 0 else 0
    checkpoints = ceil(total / trainer["save_freq"]) if trainer["save_freq"] > 0 else 0
    return Steps(
        train_rows=rows,
        per_epoch=per_epoch,
        epochs=trainer["total_epochs"],
        total=total,
        epochs_done=total / per_epoch if per_epoch else 0.0,
        validations=validations + int(trainer["val_before_train"]),
        checkpoints=checkpoints,
    )


def _step_cost(tree: Mapping[str, Any], batch: BatchArithmetic) -> StepCost:
    prompt, response = tree["data"]["max_prompt_length"], tree["data"]["max_response_length"]
    mean, rate = tree["plan"]["response_tokens"], tree["plan"]["tokens_per_second"]
    generation = batch.responses * min(mean, response) / rate if mean and rate else None
    proofs_rate = tree["plan"]["proofs_per_second"]
    return StepCost(
        prompt_tokens_at_most=batch.responses * prompt,
        response_tokens_at_most=batch.responses * response,
        tokens_at_most=batch.responses * (prompt + response),
        assumed_tokens_per_response=mean,
        assumed_tokens_per_second=rate,
        generation_seconds=generation,
        proofs_at_most=batch.responses,
        assumed_proofs_per_second=proofs_rate,
        verification_seconds=batch.responses / proofs_rate,
        proofs_per_second_to_keep_up=batch.responses / generation if generation else None,
    )


def _evaluation(tree: Mapping[str, Any]) -> dict[str, Any]:
    evaluation = tree["evaluation"]
    problems = tree["recipe"][f"{evaluation['split']}_count"]
    split = f"split {evaluation['split']}"
    if evaluation["prompts"] is not None:
        from kimina.experiment.evaluation_inputs import read_prompts

        problems, split = len(read_prompts(evaluation["prompts"])), evaluation["prompts"]
    return {
        "name": evaluation["name"],
        "split": split,
        "problems": problems,
        "canaries": evaluation["canaries"],
        "fix_turns_at_most": problems * evaluation["samples"] * evaluation["fix_turns"],
        "samples": evaluation["samples"],
        "responses": problems * evaluation["samples"],
        "response_tokens_at_most": problems * evaluation["samples"] * evaluation["max_new_tokens"],
        "verification_seconds": problems * evaluation["samples"] / tree["plan"]["proofs_per_second"],
        "ks": evaluation["ks"],
    }


def changed_settings(config: DictConfig, tree: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return verl's settings that differ from verl's own defaults: key to ``{"value": ..., "verl": ...}``."""
    written = dict(leaves(_plain(config)))
    defaults = verl_defaults(str(tree["model_engine"]))
    changed: dict[str, dict[str, Any]] = {}
    for key, raw in written.items():
        if key not in defaults or raw == defaults[key]:
            continue
        value = value_at(tree, key)
        if value != defaults[key]:
            changed[key] = {"value": value, "verl": defaults[key]}
    return changed


def _plain(config: DictConfig) -> Mapping[str, Any]:
    tree = OmegaConf.to_container(config, resolve=False)
    assert isinstance(tree, dict)
    return {str(key): value for key, value in tree.items()}


def seconds_text(seconds: float | None) -> str:
    """Return a duration for people: ``7.9 min``; a missing one is a dash."""
    if seconds is None:
        return "–"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def count_text(number: float | None) -> str:
    """Return a count with thousands separators; a missing one is a dash."""
    return "–" if number is None else f"{number:,.0f}"


def rate_text(number: float | None, unit: str) -> str:
    """Return a rate with two significant decimals below ten."""
    if number is None:
        return "–"
    return f"{number:,.2f} {unit}" if number < 10 else f"{number:,.0f} {unit}"


def sentence_about_verification(cost: StepCost) -> str:
    """Say whether verification keeps up with generation."""
    if cost.generation_seconds is None or cost.proofs_per_second_to_keep_up is None:
        return "no generation rate is configured (plan.tokens_per_second), so the two can't be compared"
    needed = rate_text(cost.proofs_per_second_to_keep_up, "proofs/s")
    if cost.verification_seconds <= cost.generation_seconds:
        return f"verification fits into generation ({needed} would be enough)"
    return f"verification is slower than generation: {needed} are needed to keep up"


def stage_names(plan: Plan) -> Sequence[str]:
    """Return the planned stages' names in order."""
    return list(plan.stages)
