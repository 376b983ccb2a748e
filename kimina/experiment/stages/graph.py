"""Which artifacts an experiment consists of, and what each is named by.

``data -> sft -> rl -> eval (before and after) -> table``. A stage's hash covers the part of the configuration that it
reads and the hashes of its inputs, so a changed evaluation setting doesn't retrain a model, and a changed learning
rate doesn't rebuild a data set.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kimina.experiment.artifact import Artifact, stage_hash

STAGES = ("data", "sft", "rl", "eval", "table")

# The nodes that say what is trained and how; verl's are among them.
_RL_NODES = (
    "seed",
    "model",
    "loss",
    "correction",
    "length",
    "sampling",
    "rollout",
    "verifier",
    "reward",
    "data",
    "actor_rollout_ref",
    "algorithm",
    "critic",
    "trainer",
)
# The prepared folder only saves time: a warm start is used when it is the one that would be trained.
_SFT_EXCLUDED = ("sft.prepared", "sft.threads")


@dataclass(frozen=True)
class Graph:
    """The artifacts of one experiment. ``sft`` is None where the model comes trained."""

    data: Artifact
    sft: Artifact | None
    rl: Artifact
    before: Artifact
    after: Artifact
    table: Artifact

    def upto(self, stage: str) -> list[str]:
        """Return the stages that must be done so that ``stage`` is done, in order."""
        wanted = STAGES if stage == "all" else STAGES[: STAGES.index(stage) + 1]
        return [name for name in wanted if name != "sft" or self.sft is not None]


def build_graph(config: Mapping[str, Any]) -> Graph:
    """Return the artifacts of the resolved configuration ``config``."""
    root, name, seed = config["output_dir"], config["name"], config["seed"]
    data = Artifact(root, "data", config["recipe"]["name"], stage_hash({"recipe": config["recipe"]}))
    sft = None
    if config["sft"]["enabled"]:
        sft_hash = stage_hash(
            {"sft": config["sft"], "architecture": config["model"]["architecture"], "seed": seed},
            {"data": data.hash},
            excluded=_SFT_EXCLUDED,
        )
        sft = Artifact(root, "sft", config["model"]["name"], sft_hash)
    start = sft.hash if sft is not None else str(config["model"]["path"])
    rl_hash = stage_hash({node: config[node] for node in _RL_NODES}, {"data": data.hash, "start": start})
    rl = Artifact(root, "rl", name, rl_hash)
    judged = {node: config[node] for node in ("evaluation", "reward", "verifier", "seed")}
    before = Artifact(root, "eval", f"{config['model']['name']}-start", stage_hash(judged, {"data": data.hash, "model": start}))
    after = Artifact(root, "eval", name, stage_hash(judged, {"data": data.hash, "model": rl.hash}))
    table_hash = stage_hash({"table": config["table"]}, {"before": before.hash, "after": after.hash, "rl": rl.hash})
    return Graph(data, sft, rl, before, after, Artifact(root, "table", name, table_hash))
