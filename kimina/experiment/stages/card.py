"""The card stage: a Hugging Face model card for the trained model of an experiment.

It reads what the rl and eval stages left; a card is an artifact of its own, so that the model's folder stays as training
wrote it. A card is published: addresses of servers and paths of the machine stay out of it.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kimina.data.prompts import read_rows
from kimina.data.sources import local_files
from kimina.durable import write_text
from kimina.experiment.artifact import NOT_IDENTITY, Artifact
from kimina.experiment.keys import leaves
from kimina.experiment.plan import changed_settings, chosen_options
from kimina.experiment.stages.finished_evaluation import read_finished
from kimina.experiment.stages.graph import PLACE_OF_CHECKING, own_files
from kimina.experiment.stages.run_context import RunContext
from kimina.reward.settings import REWARD_KEYS
from kimina.tables import RunFacts, compare
from kimina.tables.card import CardFacts, model_card
from kimina.tables.wording import plural

CARD = "README.md"
_HUB_NAME = re.compile(r"[\w.\-]+/[\w.\-]+")
# Besides what doesn't count for a run's identity: where things lie on this machine.
_OF_THE_MACHINE = ("verifier.project_dir", "verifier.lean", "sft.prepared")
# Our nodes whose whole content a reader needs to know what was trained on and for.
_METHOD_NODES = ("model", "recipe", "reward", "verifier", "correction", "length", "sampling", "loss")


def make(context: RunContext, artifact: Artifact) -> None:
    """Write the card into the artifact's folder."""
    graph, config = context.graph, context.resolved
    before, after = read_finished("before", graph.before), read_finished("after", graph.after)
    table = compare(before, after, ks=tuple(config["evaluation"]["ks"]), seed=config["seed"])
    path = write_text(artifact.file(CARD), model_card(_facts(context), table))
    artifact.update(card=str(path), model=str(graph.rl.file("hf")))


def show(context: RunContext) -> None:
    """Say where the card is and where it belongs."""
    manifest = context.graph.card.manifest()
    context.progress.say(f"card    {manifest['card']}")
    context.progress.say(f"model   {manifest['model']} (upload both into one repository; the card is its README.md)")


def _facts(context: RunContext) -> CardFacts:
    graph, config = context.graph, context.resolved
    manifest = graph.rl.manifest()
    nano = config["recipe"]["name"] == "nano"
    rows = read_rows(context.prompt_file(config["evaluation"]["split"]))
    infos = [row["extra_info"] for row in rows]
    families, levels = len({info["family"] for info in infos}), len({info["level"] for info in infos})
    kinds = f"{families} {'family' if families == 1 else 'families'} and {plural(levels, 'level')}"
    base = None if graph.sft is not None else _hub_name(str(config["model"]["path"]))
    parameters = graph.sft.manifest()["sft"]["parameters"] if graph.sft else config["model"]["parameters"]
    own_training, own_test = own_files(config, "train_files"), own_files(config, "val_files")
    sources = () if nano or own_training else _hub_sources(config["recipe"]["source"], config["recipe"]["split"])
    return CardFacts(
        run=RunFacts.of_manifest(
            {**manifest, "lean": graph.after.manifest()["lean"]},
            command=_command(manifest["overrides"]),
            model=config["model"]["name"],
            parameters=parameters,
        ),
        base_model=base,
        start=_start(context, base),
        datasets=sources,
        training_data=_training_data(config, own_training, kinds),
        benchmark=_benchmark(config, own_test),
        benchmark_id=_benchmark_id(config, own_test),
        split=config["evaluation"]["split"],
        training=_training(config),
        evaluation={key: value for key, value in config["evaluation"].items() if key != "batch_size"},
        settings=_public({key: pair["value"] for key, pair in changed_settings(context.config, config).items()}),
        methods={node: _public(dict(leaves(tree, f"{node}.")), drop=f"{node}.") for node, tree in _methods(config).items()},
        prompt=rows[0]["prompt"] if rows else (),
        limits=_limits(nano, kinds),
        tags=(config["loss"]["name"],),
    )


def _methods(config: dict[str, Any]) -> dict[str, Any]:
    found = {node: config[node] for node in _METHOD_NODES}
    # The rest of this node is verl's, and is among the trainer's settings where it was changed.
    found["reward"] = {key: config["reward"][key] for key in REWARD_KEYS if key in config["reward"]}
    return found


def _private(key: str) -> bool:
    return any(key == hidden or key.startswith(f"{hidden}.") for hidden in (*NOT_IDENTITY, *PLACE_OF_CHECKING, *_OF_THE_MACHINE))


def _public(settings: Mapping[str, Any], drop: str = "") -> dict[str, Any]:
    """Return the settings that say what was done, without where; paths by their last part."""
    return {key.removeprefix(drop): _without_path(value) for key, value in settings.items() if not _private(key)}


def _without_path(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("/", "~", "./", "../")):
        return Path(value).name
    return value


def _command(words: Sequence[str]) -> str:
    kept = []
    for word in words:
        key, _, value = word.lstrip("+").partition("=")
        if key != "stage" and not _private(key):
            kept.append(word if value == _without_path(value) else f"{key}={_without_path(value)}")
    return shlex.join(["python", "run.py", *kept])


def _hub_name(path: str) -> str | None:
    return path if _HUB_NAME.fullmatch(path) and not Path(path).exists() else None


def _hub_sources(name: str, split: str) -> tuple[str, ...]:
    return (name,) if local_files(name, split) is None else ()


def _start(context: RunContext, base: str | None) -> str:
    config = context.resolved
    method = f"reinforcement learning (`loss={config['loss']['name']}`, `reward={config['reward']['profile']}`)"
    if context.graph.sft is not None:
        return f"It was trained by {method} from a supervised warm start that the same configuration makes."
    return f"It was trained by {method} from {f'`{base}`' if base else 'a local model'}."


def _training_data(config: dict[str, Any], own: list[Path], kinds: str) -> str:
    recipe = config["recipe"]
    if own:
        return f"The training theorems were read from a file of the user's, {own[0].name}."
    if recipe["name"] == "nano":
        return f"The {recipe['train_count']:,} training theorems were generated, in {kinds} of difficulty."
    return f"The training theorems are those of {recipe['source']} ({recipe['split']})."


def _benchmark(config: dict[str, Any], own: list[Path]) -> str:
    if config["evaluation"]["split"] != "train" and own:
        return own[0].name
    return "generated test theorems" if config["recipe"]["name"] == "nano" else str(config["recipe"]["test_source"])


def _benchmark_id(config: dict[str, Any], own: list[Path]) -> str:
    source, split = config["recipe"].get("test_source", ""), config["recipe"].get("test_split", "")
    if own or config["recipe"]["name"] == "nano":
        return "generated" if not own else "local"
    return str(source) if _hub_sources(source, split) else "local"


def _training(config: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    chosen = ", ".join(f"{group}={option}" for group, option in chosen_options(config).items() if group not in ("stage", "logger"))
    prompts, group = config["data"]["train_batch_size"], config["actor_rollout_ref"]["rollout"]["n"]
    steps = config["trainer"]["total_training_steps"]
    return (
        ("Options", chosen),
        ("Steps", f"{steps:,}" if steps is not None else f"{config['trainer']['total_epochs']} epochs"),
        ("Batch", f"{prompts} theorems × {group} answers"),
        ("Seed", str(config["seed"])),
    )


def _limits(nano: bool, kinds: str) -> tuple[str, ...]:
    if nano:
        return (
            f"A model of this size knows the short theorems that it was trained on ({kinds}) and nothing else; it is for "
            "studying training, not for proving.",
        )
    return ("Whether theorems of the benchmark, or proofs of them, were in the training data of the base model is not known.",)
