"""The result table in a terminal."""

import rich.box
import rich.console
import rich.table
import rich.text

from kimina.evaluation.result import Rate
from kimina.tables.export import row_label
from kimina.tables.result_table import FAMILY, LEVEL, Cell, ResultTable
from kimina.tables.wording import (
    ability_sentence,
    cell_sentence,
    gain_interval_text,
    gain_text,
    interval_text,
    p_text,
    plural,
    rate_text,
    unlearned_sentence,
    unverified_sentence,
)

_COLOURS = {"higher": "green", "lower": "red"}
_WIDE = 100


def print_table(table: ResultTable, console: rich.console.Console) -> None:
    """Print the overall table, the one by level and family, and what they say in sentences."""
    samples = table.ability.samples
    console.print()
    console.print(
        rich.text.Text(
            f"{plural(table.overall.problems, 'test theorem')}, {plural(samples, 'sample')} each, in percent with 95 % intervals",
            style="bold",
        )
    )
    console.print(_overall(table))
    console.print(_groups(table, console.width))
    sentences = [
        cell_sentence(table.overall.cells[0]),
        ability_sentence(table),
        unlearned_sentence(table.grouped(FAMILY)),
        _habits(table),
        unverified_sentence(table),
    ]
    for sentence in sentences:
        if sentence:
            console.print(rich.text.Text(f"• {sentence}"))


def _overall(table: ResultTable) -> rich.table.Table:
    shown = _empty_table()
    for title in ("before", "after", "gain in points", "p"):
        shown.add_column(title, justify="right", no_wrap=True)
    for cell in table.overall.cells:
        shown.add_row(f"pass@{cell.k}", _rate(cell.before), _rate(cell.after), _gain(cell), p_text(cell.p))
    return shown


def _groups(table: ResultTable, width: int) -> rich.table.Table:
    first, others = table.ks[0], table.ks[1:]
    # A narrow terminal has room for one more k; the last one tells ability from sharpening.
    if width < _WIDE:
        others = others[-1:]
    shown = _empty_table()
    for title in ("n", f"pass@{first}", "gain in points", "p*", *(f"pass@{k}" for k in others)):
        shown.add_column(title, justify="right", no_wrap=True)
    for group in (LEVEL, FAMILY):
        rows = table.grouped(group)
        for position, row in enumerate(rows, start=1):
            cell = row.cells[0]
            shown.add_row(
                row_label(row),
                str(row.problems),
                _change(cell),
                _gain(cell),
                p_text(cell.p),
                *(_change(row.cell(k)) for k in others),
                end_section=position == len(rows) and group == LEVEL,
            )
    shown.caption = "p*: paired test, adjusted for the number of levels or families (Holm)"
    shown.caption_justify = "left"
    return shown


def _empty_table() -> rich.table.Table:
    shown = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("", no_wrap=True)
    return shown


def _rate(rate: Rate) -> rich.text.Text:
    return _with_interval(rate_text(rate), interval_text(rate.interval), "")


def _change(cell: Cell) -> str:
    return f"{rate_text(cell.before)} → {rate_text(cell.after)}"


def _gain(cell: Cell) -> rich.text.Text:
    return _with_interval(gain_text(cell.gain), gain_interval_text(cell.gain), _COLOURS.get(cell.verdict, ""))


def _with_interval(value: str, interval: str, style: str) -> rich.text.Text:
    text = rich.text.Text(value, style=style)
    if interval:
        text.append(f" ({interval})", style="dim not bold")
    return text


def _habits(table: ResultTable) -> str:
    before, after = table.before, table.after
    lengths = [result.mean_tokens() for result in (before, after)]
    formats = [result.format_rate(seed=table.seed).value for result in (before, after)]
    if None in lengths or None in formats:
        return ""
    return (
        f"Mean response {lengths[0]:.0f} → {lengths[1]:.0f} tokens; "
        f"in the required format {100 * formats[0]:.1f} → {100 * formats[1]:.1f} %."
    )
