"""``stage=plan`` with a paper's table: what there is of each row, and what ``table.build=true`` would run.

Nothing is started and nothing is written. Rows of one model or one run share their artifacts, so a row may be made by an
earlier one; it says so in place of a command.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kimina.experiment.artifact import Artifact
from kimina.experiment.complaint import command_line
from kimina.experiment.stages.paper_rows import TO_MAKE, RowPlan, plan_rows, row_state, words_for_rows
from kimina.tables.declaration import Row, TableDeclaration
from kimina.tables.paper_table import RowState, RowStatus


@dataclass(frozen=True)
class PlannedRow:
    """A row of a table as building it would find it.

    Attributes:
        command: the line that building runs for it, None where it runs none.
        to_do: the stages (rl, eval) of this row that are not done; data and warm start are made with them where they lack.
        made_by: id of the earlier row whose command makes the same evaluation, None where there is none.
    """

    id: str
    title: str
    status: RowStatus
    detail: str
    command: str | None
    to_do: tuple[str, ...]
    made_by: str | None


@dataclass(frozen=True)
class TablePlan:
    """The rows of a table, and the command that builds what is missing."""

    table: str
    title: str
    build: str
    rows: tuple[PlannedRow, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return asdict(self)

    @property
    def runs(self) -> list[PlannedRow]:
        """The rows for which building runs a command."""
        return [row for row in self.rows if row.command is not None]


def plan_table(declaration: TableDeclaration, words: Sequence[str], output_dir: str | Path) -> TablePlan:
    """Find out the state of every row.

    Raises:
        InfrastructureError: what is there of a row is damaged.
    """
    plans = plan_rows(declaration, words, output_dir, remember=False)
    made_by: dict[str, str] = {}
    rows = []
    for row in declaration.rows:
        state = row_state(row, plans.get(row.id))
        rows.append(_planned(row, state, plans.get(row.id), made_by))
    build = command_line(["stage=table", f"table={declaration.name}", *words_for_rows(words), "table.build=true"])
    return TablePlan(declaration.name, declaration.title, build, tuple(rows))


def _planned(row: Row, state: RowState, plan: RowPlan | None, made_by: dict[str, str]) -> PlannedRow:
    """``made_by`` has the row that makes an evaluation by the evaluation's folder, and takes up this one."""
    if state.status not in TO_MAKE or plan is None or plan.folders is None or state.folder is None:
        return PlannedRow(row.id, row.title, state.status, state.detail, None, (), None)
    earlier = made_by.setdefault(state.folder, row.id)
    if earlier != row.id:
        return PlannedRow(row.id, row.title, state.status, state.detail, None, (), earlier)
    needed = [("eval", state.folder)] if row.model == "start" else [("rl", plan.folders["rl"]), ("eval", state.folder)]
    to_do = tuple(stage for stage, folder in needed if not Artifact.at(folder).is_done)
    return PlannedRow(row.id, row.title, state.status, state.detail, plan.command, to_do, None)


def print_table_plan(plan: TablePlan, console: Console) -> None:
    """Print every row with its state and the command that building it runs."""

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    say(f"[bold]Plan of the table {plan.table}: {escape(plan.title)}[/bold] (nothing was started)\n")
    for row in plan.rows:
        shown = f"{row.status.value}: {row.detail}" if row.detail else row.status.value
        say(f"  [cyan]{row.id}[/cyan]  {escape(row.title)}\n      {escape(shown)}")
        if row.made_by is not None:
            say(f"      the same evaluation as the row {row.made_by}")
        elif row.command is not None:
            say(f"      runs {' and '.join(row.to_do)}: {escape(row.command)}")
    stages = [stage for row in plan.runs for stage in row.to_do]
    if not stages:
        say("\nBuilding it would run nothing.")
        return
    say(f"\nBuilding it would run {len(plan.runs)} commands: {stages.count('rl')} x rl, {stages.count('eval')} x eval.")
    say(f"  to build it, type: {escape(plan.build)}")
    say("  what one row costs: its command with stage=plan in place of stage=eval")
