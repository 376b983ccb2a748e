"""stage=table for a published table: which rows exist, making those that don't, and writing the table.

Rows are made one after the other, each by a command of its own (``python run.py experiments=… stage=eval``), the one that
the table prints: a row that fails or is killed costs no other row, and the same command goes on where it was.
"""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from kimina.data.prompts import read_rows
from kimina.durable import read_json, write_bytes, write_json, write_text
from kimina.errors import InfrastructureError
from kimina.evaluation.result import PROMPTS
from kimina.experiment.artifact import Artifact, stage_hash
from kimina.experiment.environment import capture_environment
from kimina.experiment.keys import leaves
from kimina.experiment.options import REPOSITORY
from kimina.experiment.stages.finished_evaluation import read_finished
from kimina.experiment.stages.paper_rows import TO_MAKE, RowPlan, plan_rows, row_state, words_for_rows
from kimina.experiment.stages.run_context import RunContext
from kimina.lean.embedded.sandbox import die_with_parent
from kimina.tables import browser_page
from kimina.tables.browser_page import BrowserPage, PageRun, build_browser_page
from kimina.tables.declaration import TableDeclaration
from kimina.tables.figures import LIGHT, png_with_title, render
from kimina.tables.paper_figures import paper_drawings, pass_curve
from kimina.tables.paper_table import PaperTable, build_table
from kimina.tables.paper_text import HEADINGS, lines, notes, print_paper_table, to_csv, to_dict, to_latex, to_markdown

_STOP_S = 60.0


def paper_table(context: RunContext, declaration: TableDeclaration) -> None:
    """Make missing rows if ``table.build`` asks for it, write the table in all forms, and print it.

    Raises:
        InfrastructureError: a row could not be made; the table is written all the same.
    """
    settings = context.resolved["table"]
    plans = plan_rows(declaration, context.overrides, context.resolved["output_dir"])
    failed = _build(context, declaration, plans) if settings["build"] else []
    states = [row_state(row, plans.get(row.id)) for row in declaration.rows]
    table = build_table(
        declaration, states, words=words_for_rows(context.overrides), command=context.command, seed=context.resolved["seed"]
    )
    # Every state of the same table has the same folder.
    identity = stage_hash({"table": declaration.name, "words": sorted(table.words)})
    folder = Artifact(context.resolved["output_dir"], "table", declaration.name, identity).folder
    write_table(table, folder)
    page = _write_page(context, table, folder) if settings["page"] and table.runs else None
    print_paper_table(table, context.progress.console if context.progress.interactive else Console(file=context.progress.stream))
    missing = [state for state in states if state.status in TO_MAKE]
    if missing and not settings["build"]:
        context.progress.say(f"to make what is missing, type: {context.command} table.build=true")
    if page is not None:
        context.progress.say(f"report  {page}")
    context.progress.say(f"table   {folder}/table.md table.tex table.csv table.json")
    if failed:
        raise InfrastructureError(f"{len(failed)} rows could not be made: {', '.join(failed)}. The same command tries them again.")


def _build(context: RunContext, declaration: TableDeclaration, plans: Mapping[str, RowPlan]) -> list[str]:
    """Make every row that can be made; return the ids of those that failed."""
    failed: list[str] = []
    todo = [row for row in declaration.rows if row_state(row, plans.get(row.id)).status in TO_MAKE]
    for number, row in enumerate(todo, start=1):
        # A row before may have made the same artifact.
        if row_state(row, plans[row.id]).status not in TO_MAKE:
            continue
        context.progress.say(f"row {number} of {len(todo)}: {row.title}: {plans[row.id].command}")
        code = _run(context, row.id, plans[row.id])
        if code != 0 and row_state(row, plans[row.id]).status not in TO_MAKE:
            # Another process that builds the same row was a moment earlier.
            context.progress.say(f"{row.id}: another process makes it; the other rows go on")
        elif code != 0:
            failed.append(row.id)
            context.progress.say(f"{row.id}: ended with exit code {code}; the other rows go on")
    return failed


def _run(context: RunContext, row_id: str, plan: RowPlan) -> int:
    command = [sys.executable, str(REPOSITORY / "run.py"), *plan.making]
    parent = os.getpid()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # A table that is killed leaves no run behind that nobody asked for.
        preexec_fn=lambda: die_with_parent(parent, signal.SIGTERM),
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.strip():
                    context.progress.say(f"{row_id}: {line.rstrip()}")
            return process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


def _write_page(context: RunContext, table: PaperTable, folder: Path) -> Path:
    """Write the page with every problem and sample of the measured rows, unless the one that is there shows the same."""
    path, stamp = folder / "report.html", folder / "report.json"
    # Reading all samples takes longer than everything else together.
    shown = {"table": to_dict(table), "code": _page_digest()}
    if path.exists() and stamp.exists() and read_json(stamp) == shown:
        return path
    with context.progress.stage("table: page", len(table.distinct_runs), "rows") as progress:
        runs: list[PageRun] = []
        prompts: dict[str, dict[str, Any]] = {}
        for row, run in table.distinct_runs:
            manifest = Artifact.at(run.folder).manifest()
            result = read_finished(row.title, Artifact.at(run.folder))
            config = dict(leaves(manifest["config"]))
            runs.append(PageRun(row.id, row.title, result, config, run.curves, pass_curve(run, table.seed)))
            prompts |= {info["problem_id"]: info for info in (line["extra_info"] for line in read_rows(Path(run.folder) / PROMPTS))}
            progress.advance()
    write_text(
        path,
        build_browser_page(
            BrowserPage(
                title=table.declaration.title,
                source=table.declaration.source or "",
                command=table.command,
                columns=HEADINGS,
                rows=tuple(tuple(texts) for _, _, texts in lines(table)),
                notes=tuple(notes(table)),
                runs=tuple(runs),
                statements={name: info["statement"] for name, info in prompts.items()},
                informal={name: info["informal"] for name, info in prompts.items()},
            )
        ),
    )
    write_json(stamp, shown)
    return path


def _page_digest() -> str:
    """Of the code that makes the page."""
    files = sorted(Path(browser_page.__file__).parent.glob("browser_page*/*")) + sorted(Path(browser_page.__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def write_table(table: PaperTable, folder: Path) -> None:
    """Write the table as Markdown, LaTeX, CSV and JSON, and its figures."""
    write_text(folder / "table.md", to_markdown(table))
    write_text(folder / "table.tex", to_latex(table))
    write_text(folder / "table.csv", to_csv(table))
    drawings = paper_drawings(table)
    for drawing in drawings:
        write_bytes(folder / "figures" / f"{drawing.name}.png", png_with_title(drawing))
        write_bytes(folder / "figures" / f"{drawing.name}.svg", render(drawing.draw(LIGHT), "svg"))
    # Last: who finds it finds the others, too.
    content: dict[str, Any] = {**to_dict(table), "figures": [drawing.name for drawing in drawings], **capture_environment()}
    write_json(folder / "table.json", content)

