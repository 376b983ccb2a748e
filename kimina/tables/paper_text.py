"""How a paper table is written: the same words and digits in terminal, Markdown, LaTeX, CSV and JSON."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import rich.console
import rich.table
import rich.text

from kimina.evaluation.result import Rate
from kimina.tables.declaration import Published
from kimina.tables.export import escape_latex, escape_markdown, one_line
from kimina.tables.paper_table import PAPER_SCHEMA, Cell, PaperRow, PaperTable, RowState, RowStatus, Verdict
from kimina.tables.wording import MINUS, UNDEFINED, gain_interval_text, gain_text, interval_text, p_text, points, rate_text

HEADINGS = ("row", "metric", "published", "measured (95 % interval)", "n", "verdict", "published gain", "measured gain", "p")
_WIDEST = 150
_STYLES = {Verdict.WITHIN: "green", Verdict.DIFFERS: "red", Verdict.REFUSED: "red"}
_GAIN_STYLES = {"higher": "green", "lower": "red"}


def published_text(published: Published | None, *, other_values: bool = True) -> str:
    """The value exactly as printed, its count where that is known, and conflicting values beside it."""
    if published is None:
        return UNDEFINED
    value = f"{published.percent} %" if published.percent is not None else (published.value or "")
    if published.unit and published.percent is None:
        value += f" {published.unit}"
    if published.count is not None:
        value += f" [{published.count}]"
    if published.digitised:
        value += f" (read off a figure, {published.digitised})"
    others = [published_text(other) for other in published.also] if other_values else []
    return " or ".join([value, *others])


def measured_text(cell: Cell) -> str:
    """The measured value with its interval, or why there is none."""
    if cell.value is None:
        return cell.why or UNDEFINED
    if cell.is_rate:
        span = interval_text(cell.interval)
        return rate_text(Rate(cell.value, cell.interval, cell.problems)) + (f" ({span})" if span else "")
    span = f" ({cell.interval.low:.0f}–{cell.interval.high:.0f})" if cell.interval else ""
    return f"{cell.value:,.0f}{span} {cell.unit}"


def size_text(cell: Cell) -> str:
    """Problems and samples that the measured value rests on, and the generations that fix turns came to."""
    if cell.value is None or not cell.problems:
        return ""
    extra = f", {cell.generations:.1f} generations a problem" if cell.generations is not None else ""
    return f"{cell.problems} × {cell.samples}{extra}"


def gain_texts(cell: Cell) -> tuple[str, str, str]:
    """Published gain, measured gain with its interval, and p."""
    published = "" if cell.published_gain is None else _difference(cell, cell.published_gain)
    if cell.gain is None:
        return published, "", ""
    if cell.is_rate:
        span = gain_interval_text(cell.gain)
        return published, gain_text(cell.gain) + (f" ({span})" if span else ""), p_text(cell.gain_p)
    interval = cell.gain.interval
    span = f" ({_tokens(interval.low)} to {_tokens(interval.high)})" if interval else ""
    return published, f"{_tokens(cell.gain.gain)}{span} tokens", p_text(cell.gain_p)


def lines(table: PaperTable) -> list[tuple[PaperRow, Cell, list[str]]]:
    """The table's lines, one a row and column, as texts under `HEADINGS`; of a row that was not measured, what was published."""
    result = []
    for row in table.rows:
        done = row.state.status is RowStatus.DONE
        cells = [cell for cell in row.cells.values() if done or cell.published] or list(row.cells.values())[:1]
        for position, cell in enumerate(cells):
            column = cell.column
            title = row.state.row.title if position == 0 else ""
            metric = column.title + (f" ({column.budget})" if column.budget else "")
            shown = "" if row.state.status is not RowStatus.DONE else cell.verdict.value
            if cell.agreement:
                shown += f"; gain: {cell.agreement}"
            measured = measured_text(cell) if row.state.status is RowStatus.DONE else status_text(row)
            texts = [title, metric, published_text(cell.published), measured, size_text(cell), shown, *gain_texts(cell)]
            result.append((row, cell, texts))
    return result


def status_text(row: PaperRow) -> str:
    """What there is of a row that was not measured."""
    state = row.state
    if state.status is RowStatus.QUOTED:
        return "quoted only"
    return f"{state.status.value}: {state.detail}" if state.detail else state.status.value


def counts_text(table: PaperTable) -> str:
    """One sentence: how many rows are done, and what the others are."""
    counts = table.counts()
    total = sum(counts.values())
    others = ", ".join(f"{number} {status.value}" for status, number in counts.items() if status is not RowStatus.DONE)
    return f"{counts.get(RowStatus.DONE, 0)} of {total} rows are measured{f'; {others}' if others else ''}."


def notes(table: PaperTable) -> list[str]:
    """What stands below the table."""
    declaration = table.declaration
    told = [f"Published: {declaration.source}."]
    if declaration.benchmark:
        told.append(
            f"Published values are about {declaration.benchmark.name}"
            + (f" ({declaration.benchmark.problems} problems); in brackets: problems solved." if declaration.benchmark.problems else ".")
        )
    if any(cell.verdict is Verdict.OTHER_BENCHMARK for row in table.rows for cell in row.cells.values()):
        told.append(
            "Measured values are about another benchmark here, so levels are not compared; gains are compared by their sign."
        )
    runs: dict[str, list[str]] = {}
    for row in table.rows:
        if row.state.run is not None:
            runs.setdefault(row.state.run.folder, []).append(row.state.row.title)
    told += [f"At this scale one and the same run: {'; '.join(titles)}." for folder, titles in runs.items() if folder and len(titles) > 1]
    told.append("Gains are over the row's baseline, paired by problem; p is adjusted for the rows of a column (Holm).")
    told += [f"{row.state.row.title}: {row.state.row.note}" for row in table.rows if row.state.row.note]
    return [*told, *declaration.notes, counts_text(table)]


def to_markdown(table: PaperTable) -> str:
    """The table, its notes, and the command of every row."""
    text = [f"### {escape_markdown(table.declaration.title)}", "", _code(table.command), ""]
    text += ["| " + " | ".join(HEADINGS) + " |", "|" + " --- |" * len(HEADINGS)]
    text += ["| " + " | ".join(escape_markdown(part) for part in texts) + " |" for _, _, texts in lines(table)]
    text += ["", *(f"- {escape_markdown(note)}" for note in notes(table)), ""]
    made = [row.state for row in table.rows if row.state.run is not None]
    if made:
        text += ["| row | command | seed | training | evaluation | Lean | finished | machine |", "|" + " --- |" * 8]
        text += ["| " + " | ".join(escape_markdown(part) for part in _making(state)) + " |" for state in made]
        text.append("")
    return "\n".join(text)


def _code(text: str) -> str:
    """A text as code; its fence is longer than any run of backticks within."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{one_line(text)}{fence}" if len(fence) == 1 else f"{fence} {one_line(text)} {fence}"


def _making(state: RowState) -> list[str]:
    """How a row was made: command, seed, times, Lean, date, machine."""
    facts = state.run.facts
    seconds = [facts.get("training_seconds"), facts.get("evaluation_seconds")]
    times = ["" if value is None else f"{value / 60:.1f} min" for value in seconds]
    named = [facts.get(name) for name in ("lean", "finished", "machine")]
    return [
        state.row.title, f"`{state.command}`", str(facts.get("seed", "")), *times, *("" if value is None else str(value) for value in named),
    ]  # fmt: skip


def to_latex(table: PaperTable) -> str:
    """A ``tabular`` with booktabs rules."""
    text = [r"\begin{tabular}{llrrrlrrr}", r"\toprule", " & ".join(escape_latex(part) for part in HEADINGS) + r" \\", r"\midrule"]
    text += [" & ".join(escape_latex(part) for part in texts) + r" \\" for _, _, texts in lines(table)]
    text += [r"\bottomrule", r"\end{tabular}", *(f"% {one_line(note)}" for note in notes(table)), ""]
    return "\n".join(text)


def to_csv(table: PaperTable) -> str:
    """One line a row and column, numbers unrounded, undefined ones empty."""
    target = io.StringIO()
    names = list(cell_dict(table.rows[0].cells[table.declaration.columns[0].id])) if table.rows else []
    writer = csv.DictWriter(target, ["row", "title", "status", "column", *names], lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        for column_id, cell in row.cells.items():
            line = {"row": row.state.row.id, "title": row.state.row.title, "status": row.state.status.value, "column": column_id}
            writer.writerow(line | {name: "" if value is None else value for name, value in cell_dict(cell).items()})
    return target.getvalue()


def to_dict(table: PaperTable) -> dict[str, Any]:
    """A JSON-ready mapping; ``schema`` rises when a key changes its meaning."""
    declaration = table.declaration
    return {
        "schema": PAPER_SCHEMA,
        "table": declaration.name,
        "title": declaration.title,
        "source": declaration.source,
        "command": table.command,
        "words": list(table.words),
        "bootstrap_seed": table.seed,
        "status": {status.value: number for status, number in table.counts().items()},
        "rows": [
            {
                "id": row.state.row.id,
                "title": row.state.row.title,
                "experiment": row.state.row.experiment,
                "model": row.state.row.model,
                "baseline": row.state.row.baseline,
                "status": row.state.status.value,
                "detail": row.state.detail,
                "command": row.state.command,
                "folder": row.state.folder,
                "facts": dict(row.state.run.facts) if row.state.run else {},
                "cells": {column: cell_dict(cell) for column, cell in row.cells.items()},
            }
            for row in table.rows
        ],
        "notes": notes(table),
    }


def cell_dict(cell: Cell) -> dict[str, Any]:
    """A cell as plain values, rates in [0, 1]."""
    gain, interval = cell.gain, cell.interval
    return {
        "metric": cell.column.metric,
        "published": published_text(cell.published, other_values=False) if cell.published else None,
        "published_value": cell.published_value,
        "published_also": [published_text(other) for other in cell.published.also] if cell.published else [],
        "published_source": cell.published.source if cell.published else None,
        "value": cell.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "interval": interval.method if interval else None,
        "problems": cell.problems,
        "samples": cell.samples,
        "generations_per_problem": cell.generations,
        "verdict": cell.verdict.value,
        "why": cell.why or None,
        "published_gain": cell.published_gain,
        "gain": gain.gain if gain else None,
        "gain_low": gain.interval.low if gain and gain.interval else None,
        "gain_high": gain.interval.high if gain and gain.interval else None,
        "gain_p": gain.p if gain else None,
        "gain_p_adjusted": cell.gain_p,
        "gain_test": gain.test if gain else None,
        "gain_verdict": cell.gain_verdict or None,
        "agreement": cell.agreement or None,
    }


def print_paper_table(table: PaperTable, console: rich.console.Console) -> None:
    """Print the table and its notes: under each row's title one line a column that has something to show."""
    console.print()
    console.print(rich.text.Text(table.declaration.title, style="bold"))
    console.print(_grid([("", "published", "measured (95 % interval)", "gain (published → measured)", "")], "dim", console.width))
    for row in table.rows:
        done = row.state.status is RowStatus.DONE
        title = rich.text.Text(row.state.row.title, style="bold" if done else "")
        if not done:
            title.append(f"  {status_text(row)}", style="dim not bold")
        console.print(title)
        shown = [_terminal_line(cell, done) for cell in row.cells.values() if done or cell.published]
        if shown:
            console.print(_grid(shown, "", console.width))
    console.print()
    for note in notes(table):
        console.print(rich.text.Text(f"• {note}"))


def _terminal_line(cell: Cell, done: bool) -> tuple[str | rich.text.Text, ...]:
    published_gain, gain, p = gain_texts(cell)
    gains = " → ".join(part for part in (published_gain, gain) if part) + (f", p {p}" if gain else "")
    measured = measured_text(cell) if done else ""
    told = cell.verdict.value if done and cell.verdict not in (Verdict.NOT_PUBLISHED, Verdict.NOT_MEASURABLE) else ""
    return (
        f"  {cell.column.title}",
        published_text(cell.published) if cell.published else "",
        measured,
        rich.text.Text(gains, style=_GAIN_STYLES.get(cell.gain_verdict, "")),
        rich.text.Text(told, style=_STYLES.get(cell.verdict, "")),
    )


def _grid(rows: Sequence[Sequence[str | rich.text.Text]], style: str, width: int) -> rich.table.Table:
    grid = rich.table.Table(box=None, show_header=False, padding=(0, 1, 0, 0), width=min(width, _WIDEST), style=style)
    for ratio in (5, 5, 6, 6, 4):
        grid.add_column(ratio=ratio, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _difference(cell: Cell, value: float) -> str:
    return points(value) if cell.is_rate else f"{_tokens(value)} {cell.unit}"


def _tokens(value: float) -> str:
    """A difference of lengths with its sign; small ones with one decimal."""
    text = f"{abs(value):.1f}" if abs(value) < 10 else f"{abs(value):.0f}"
    return "0.0" if text == "0.0" else f"{'+' if value > 0 else MINUS}{text}"
