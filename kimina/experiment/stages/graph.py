"""Which artifacts an experiment consists of, and what each is named by.

``data -> sft -> rl -> eval (before and after) -> table``. A stage's hash covers the part of the configuration that it
reads and the hashes of its inputs, so a changed evaluation setting doesn't retrain a model, and a changed learning
rate doesn't rebuild a data set. An evaluation may ask another model or other prompts (``evaluation.model`` and
``evaluation.prompts``); both count by their content.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimina.data.sources import digest_of_files, local_files
from kimina.experiment.artifact import NOT_IDENTITY, Artifact, stage_hash
from kimina.experiment.evaluation_inputs import START, TRAINED, named_model, prompts_identity
from kimina.lean.embedded.installation import installed_lean_version

STAGES = ("data", "sft", "rl", "eval", "table")

# Rises when cards of finished runs are to be written anew.
CARD_FORMAT = 1

# The nodes that say what is trained and how; verl's are among them.
_RL_NODES = (
    "seed",
    "model",
    "loss",
    "correction",
    "length",
    "sampling",
    "rollout",
    "engine",
    "verifier",
    "reward",
    "data",
    "actor_rollout_ref",
    "algorithm",
    "critic",
    "trainer",
)
# The prepared folder only saves time: a warm start is used when it is the one that would be trained.
# Its seed stands beside it, where it always stood.
_SFT_EXCLUDED = ("sft.seed", "sft.prepared", "sft.threads", "sft.compile")
# Keys that came later count where they differ from what was done before: finished warm starts keep their names.
_SFT_LATER = {"remark_rate": 0.4}
# Where and how many at a time proofs are checked does not change a verdict.
PLACE_OF_CHECKING = (
    "verifier.workers",
    "verifier.urls",
    "verifier.batch_size",
    "verifier.concurrency",
    "verifier.deadline_s",
    "verifier.cache_size",
    "verifier.cache",
    "verifier.api_key_env",
    "verifier.proofs_per_second",
    "reward.num_workers",
)
# verl writes the run's name into the tracing settings.
_EXCLUDED = (*NOT_IDENTITY, *PLACE_OF_CHECKING, "actor_rollout_ref.rollout.trace")
# Model and prompts count by content; the others say what is reported of the records, not what they are.
_EVALUATION_EXCLUDED = (
    *_EXCLUDED,
    "evaluation.model",
    "evaluation.prompts",
    "evaluation.ks",
    "evaluation.max_unverified_share",
)


@dataclass(frozen=True)
class Graph:
    """The artifacts of one experiment. ``sft`` is None where the model comes trained.

    ``asked`` is the evaluation of the one model that ``evaluation.model`` names; without it ``before`` and ``after`` are
    what stage=eval makes. ``for_asked`` are the stages that must be done before it.
    """

    data: Artifact
    sft: Artifact | None
    rl: Artifact
    before: Artifact
    after: Artifact
    table: Artifact
    card: Artifact
    asked: Artifact | None = None
    for_asked: tuple[str, ...] = ()

    def upto(self, stage: str) -> list[str]:
        """Return the stages that must be done so that ``stage`` is done, in order."""
        if stage == "card":
            return [*self.upto("eval"), stage]
        if stage == "eval" and self.asked is not None:
            return [*self.for_asked, "eval"]
        wanted = STAGES if stage == "all" else STAGES[: STAGES.index(stage) + 1]
        return [name for name in wanted if name != "sft" or self.sft is not None]


def build_graph(config: Mapping[str, Any]) -> Graph:
    """Return the artifacts of the resolved configuration ``config``.

    Files of the user's own count by their content, not by their path.

    Raises:
        InfrastructureError: such a file can't be read.
        UserError: ``evaluation.model`` names no model.
    """
    root, name = config["output_dir"], config["name"]
    data = Artifact(root, "data", config["recipe"]["name"], stage_hash({"recipe": config["recipe"]}, _local_sources(config)))
    sft = None
    if config["sft"]["enabled"]:
        sft_hash = stage_hash(
            {"sft": config["sft"], "architecture": config["model"]["architecture"], "seed": config["sft"]["seed"]},
            {"data": data.hash},
            excluded=(*_SFT_EXCLUDED, *(f"sft.{key}" for key, usual in _SFT_LATER.items() if config["sft"][key] == usual)),
        )
        sft = Artifact(root, "sft", config["model"]["name"], sft_hash)
    start = sft.hash if sft is not None else str(config["model"]["path"])
    own = _own_prompt_files(config)
    rl_hash = stage_hash(
        {node: config[node] for node in _RL_NODES}, {"data": data.hash, "start": start, **own}, excluded=_EXCLUDED
    )
    rl = Artifact(root, "rl", name, rl_hash)
    evaluated = _Evaluations(config, {"data": data.hash, **own})
    before, after = evaluated.of(f"{config['model']['name']}-start", start), evaluated.of(name, rl.hash)
    measured = {"before": before.hash, "after": after.hash, "rl": rl.hash}
    table_hash = stage_hash({"table": config["table"]["name"], "ks": config["evaluation"]["ks"]}, measured)
    table = Artifact(root, "table", name, table_hash)
    card = Artifact(root, "card", name, stage_hash({"card": CARD_FORMAT}, measured))
    model = config["evaluation"]["model"]
    if model is None:
        return Graph(data, sft, rl, before, after, table, card)
    for_prompts = () if evaluated.own_prompts else ("data",)
    if model == START:
        for_model = ("data", "sft") if sft is not None else ()
        return Graph(data, sft, rl, before, after, table, card, before, tuple(dict.fromkeys((*for_prompts, *for_model))))
    if model == TRAINED:
        for_model = ("data", "sft", "rl") if sft is not None else ("data", "rl")
        return Graph(data, sft, rl, before, after, table, card, after, for_model)
    named = named_model(model)
    return Graph(data, sft, rl, before, after, table, card, evaluated.of(named.label, named.identity), for_prompts)


class _Evaluations:
    """Names evaluations under one configuration: by how is asked and judged, by the prompts, and by the model."""

    def __init__(self, config: Mapping[str, Any], prompts: Mapping[str, str]) -> None:
        identity = prompts_identity(config["evaluation"])
        self.own_prompts = identity is not None
        self._root = config["output_dir"]
        self._parents = dict(prompts) if identity is None else {"prompts": identity}
        self._judged = {node: config[node] for node in ("evaluation", "reward", "verifier", "seed")}
        self._excluded = list(_EVALUATION_EXCLUDED)
        if not config["evaluation"]["fix_turns"]:
            self._excluded += ["evaluation.fix_history", "evaluation.fix_feedback_tokens"]
        self._judged["think_in_prompt"] = config["model"]["think_in_prompt"]
        if config["verifier"]["name"] == "embedded":
            # A Kimina server's is part of the node, where it is fixed; every version is recorded besides.
            self._judged["lean_version"] = installed_lean_version()

    def of(self, label: str, model: str) -> Artifact:
        """The evaluation of the model with the identity ``model``."""
        parents = {**self._parents, "model": model}
        return Artifact(self._root, "eval", label, stage_hash(self._judged, parents, excluded=self._excluded))


def _local_sources(config: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the files that the recipe reads on this machine."""
    recipe = config["recipe"]
    if recipe["name"] == "nano":
        return {}
    found = {
        "source": local_files(recipe["source"], recipe["split"]),
        "test_source": local_files(recipe["test_source"], recipe["test_split"]),
    }
    return {key: digest_of_files(files) for key, files in found.items() if files}


def own_files(config: Mapping[str, Any], key: str) -> list[Path]:
    """Return the user's own prompt files, ``data.train_files`` or ``data.val_files``; mostly none."""
    named = config["data"][key]
    return [Path(name).expanduser() for name in ([named] if isinstance(named, str) else named or [])]


def _own_prompt_files(config: Mapping[str, Any]) -> dict[str, str]:
    found = {key: own_files(config, key) for key in ("train_files", "val_files")}
    return {key: digest_of_files(files) for key, files in found.items() if files}
