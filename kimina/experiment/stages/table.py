"""The table stage: the comparison before and after RL, its figures and its page."""

from rich.console import Console

from kimina.data.prompts import read_rows
from kimina.evaluation.result import PROMPTS
from kimina.experiment.artifact import Artifact
from kimina.experiment.stages.finished_evaluation import read_finished
from kimina.experiment.stages.run_context import RunContext
from kimina.tables import RunFacts, compare, print_table, write_report
from kimina.tables.result_table import ResultTable


def _compared(context: RunContext) -> ResultTable:
    graph = context.graph
    before, after = read_finished("before", graph.before), read_finished("after", graph.after)
    return compare(before, after, ks=tuple(context.resolved["evaluation"]["ks"]), seed=context.resolved["seed"])


def make(context: RunContext, artifact: Artifact) -> None:
    """Write the report into the artifact's folder."""
    graph = context.graph
    infos = [row["extra_info"] for row in read_rows(graph.after.file(PROMPTS))]
    facts = RunFacts.of_manifest(
        {**graph.rl.manifest(), "lean": graph.after.manifest()["lean"]},
        command=context.command,
        model=context.resolved["model"]["name"],
        parameters=graph.sft.manifest()["sft"]["parameters"] if graph.sft else context.resolved["model"]["parameters"],
    )
    paths = write_report(
        artifact.folder,
        _compared(context),
        facts,
        metrics=graph.rl.metrics.read(),
        statements={info["problem_id"]: info["statement"] for info in infos},
        informal={info["problem_id"]: info["informal"] for info in infos},
    )
    artifact.update(report=paths.lines())


def show(context: RunContext) -> None:
    """Print the table, and last the paths."""
    stream = context.progress.stream
    print_table(_compared(context), context.progress.console if context.progress.interactive else Console(file=stream))
    for line in context.graph.table.manifest()["report"]:
        context.progress.say(line)
