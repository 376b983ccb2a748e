"""Run the stages that a command asks for: reuse what is finished, resume what isn't."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from kimina.experiment.artifact import Artifact
from kimina.experiment.chatter import QuietTerminal
from kimina.experiment.progress import Progress
from kimina.experiment.stages import card, data, evaluate, rl, table, warm_start
from kimina.experiment.stages.graph import build_graph
from kimina.experiment.stages.paper_table import paper_table
from kimina.experiment.stages.run_context import RunContext
from kimina.experiment.stages.score import score
from kimina.experiment.stages.verify import verify
from kimina.tables.declaration import load_table


def run_stages(config: DictConfig, overrides: list[str]) -> int:
    """Make the stage that ``config.stage`` names, and all that it depends on. Returns the exit code 0.

    What libraries print goes to a log file below ``output_dir``; the terminal shows progress, the result and, last,
    the paths of what was made.

    Raises:
        KiminaError: a stage failed; finished stages stay, and the same command goes on from there.
    """
    resolved: dict[str, Any] = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)  # type: ignore[assignment]
    graph = build_graph(resolved)
    log_file = Path(resolved["output_dir"]) / "logs" / f"{resolved['name']}-{time.strftime('%Y%m%d-%H%M%S')}.log"
    with QuietTerminal(log_file) as quiet, Progress(quiet.stream) as progress:
        context = RunContext(config, resolved, list(overrides), graph, progress, log_file)
        progress.say(f"log: {log_file}")
        if resolved["stage"]["name"] == "table" and (declared := load_table(resolved["table"]["name"])).kind == "paper":
            paper_table(context, declared)
            return 0
        if on_file := _ON_FILES.get(resolved["stage"]["name"]):
            on_file(context)
            return 0
        wanted = graph.upto(resolved["stage"]["name"])
        made: list[Artifact] = []
        for stage in wanted:
            made = _WORK[stage](context)
        if wanted[-1] == "table":
            table.show(context)
        elif wanted[-1] == "card":
            card.show(context)
        else:
            for artifact in made:
                progress.say(f"{artifact.stage}: {artifact.folder}")
    return 0


def _data(context: RunContext) -> list[Artifact]:
    return [context.produce(context.graph.data, data.make, {}, {"recipe": context.resolved["recipe"]})]


def _sft(context: RunContext) -> list[Artifact]:
    graph = context.graph
    assert graph.sft is not None
    return [context.produce(graph.sft, warm_start.make, {"data": graph.data.hash}, context.part("sft", "model", "seed"))]


def _rl(context: RunContext) -> list[Artifact]:
    graph = context.graph
    parents = {"data": graph.data.hash} | ({"sft": graph.sft.hash} if graph.sft is not None else {})
    return [context.produce(graph.rl, rl.make, parents, context.resolved)]


def _eval(context: RunContext) -> list[Artifact]:
    graph = context.graph
    part = context.part("evaluation", "reward", "verifier", "seed")
    if graph.asked is not None and graph.asked not in (graph.before, graph.after):
        parents = {"data": graph.data.hash} if "data" in graph.for_asked else {}
        return [context.produce(graph.asked, evaluate.make_asked, parents, part)]
    start = {"sft": graph.sft.hash} if graph.sft is not None else {}
    made = []
    if graph.asked is None or graph.asked is graph.before:
        made.append(context.produce(graph.before, evaluate.make_before, {"data": graph.data.hash, **start}, part))
    if graph.asked is None or graph.asked is graph.after:
        made.append(context.produce(graph.after, evaluate.make_after, {"data": graph.data.hash, "rl": graph.rl.hash}, part))
    return made


def _table(context: RunContext) -> list[Artifact]:
    graph = context.graph
    parents = {"before": graph.before.hash, "after": graph.after.hash, "rl": graph.rl.hash}
    return [context.produce(graph.table, table.make, parents, context.part("table"))]


def _card(context: RunContext) -> list[Artifact]:
    graph = context.graph
    parents = {"before": graph.before.hash, "after": graph.after.hash, "rl": graph.rl.hash}
    return [context.produce(graph.card, card.make, parents, {})]


# Stages outside the graph, from one file of the user's to another.
_ON_FILES: dict[str, Callable[[RunContext], None]] = {"score": score, "verify": verify}
_WORK: dict[str, Callable[[RunContext], list[Artifact]]] = {
    "data": _data,
    "sft": _sft,
    "rl": _rl,
    "eval": _eval,
    "table": _table,
    "card": _card,
}
