"""The result table as Markdown, LaTeX and CSV."""

import csv
import io
import re

from kimina.tables.result_table import FAMILY, LEVEL, OVERALL, Cell, ResultTable, Row
from kimina.tables.wording import EN_DASH, MINUS, gain_interval_text, gain_text, interval_text, p_text, rate_text

_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    MINUS: "$-$",
    EN_DASH: "--",
    "<": r"$<$",
    ">": r"$>$",
}


def to_markdown(table: ResultTable) -> str:
    """Return one Markdown table: every row, every k, with intervals and adjusted p-values."""
    lines = [
        "| | n | metric | before | after | gain (points) | p |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in table.rows:
        for position, cell in enumerate(row.cells):
            label, n = (escape_markdown(row_label(row)), str(row.problems)) if position == 0 else ("", "")
            lines.append(
                f"| {label} | {n} | pass@{cell.k} | {_rate(cell, 'before')} | {_rate(cell, 'after')} "
                f"| {_gain(cell)} | {p_text(cell.p)} |"
            )
    lines += ["", _note(table), ""]
    return "\n".join(lines)


def to_latex(table: ResultTable) -> str:
    """Return a ``tabular`` (with booktabs rules) of pass@k before and after, gain, interval and p."""
    lines = [r"\begin{tabular}{lrlrrrr}", r"\toprule", r"& $n$ & & before & after & gain & $p$ \\"]
    group = None
    for row in table.rows:
        if row.group != group:
            lines.append(r"\midrule")
            group = row.group
        for position, cell in enumerate(row.cells):
            label, n = (escape_latex(row_label(row)), str(row.problems)) if position == 0 else ("", "")
            columns = [_rate(cell, "before"), _rate(cell, "after"), _gain(cell), p_text(cell.p)]
            lines.append(" & ".join([label, n, f"pass@{cell.k}", *(escape_latex(text) for text in columns)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", "% " + _note(table), ""]
    return "\n".join(lines)


def to_csv(table: ResultTable) -> str:
    """Return one line a row and k, numbers unrounded, undefined ones empty."""
    text = io.StringIO()
    columns = ["group", "name", "problems", "k"]
    for run in ("before", "after"):
        columns += [run, f"{run}_low", f"{run}_high", f"{run}_n"]
    columns += ["gain", "gain_low", "gain_high", "gain_problems", "p", "p_adjusted", "test", "verdict"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        for cell in row.cells:
            values = cell.to_dict()
            line = {"group": row.group, "name": row.name, "problems": row.problems, "k": cell.k}
            for run in ("before", "after"):
                rate = values[run]
                line |= {
                    run: rate["value"],
                    f"{run}_low": rate["low"],
                    f"{run}_high": rate["high"],
                    f"{run}_n": rate["n"],
                }
            line |= {
                key: values[key] for key in ("gain", "gain_low", "gain_high", "p", "p_adjusted", "test", "verdict")
            }
            line["gain_problems"] = values["problems"]
            writer.writerow(line)
    return text.getvalue()


def row_label(row: Row) -> str:
    """Return how a row is called."""
    return {OVERALL: "all theorems", LEVEL: f"level {row.name}", FAMILY: row.name}[row.group]


def escape_latex(text: str) -> str:
    """Return text with LaTeX's special characters made harmless, on one line: a blank line would end a table's cell."""
    return "".join(_LATEX_SPECIAL.get(character, character) for character in one_line(text))


def _rate(cell: Cell, run: str) -> str:
    rate = cell.before if run == "before" else cell.after
    span = interval_text(rate.interval)
    return f"{rate_text(rate)} ({span})" if span else rate_text(rate)


def _gain(cell: Cell) -> str:
    span = gain_interval_text(cell.gain)
    return f"{gain_text(cell.gain)} ({span})" if span else gain_text(cell.gain)


def _note(table: ResultTable) -> str:
    return (
        f"Rates in percent with 95 % intervals (bootstrap over problems); {table.ability.samples} samples a theorem; "
        "p: paired sign-flip test, adjusted by Holm within levels and within families."
    )


def escape_markdown(text: str) -> str:
    """Return text for a cell of a Markdown table, in which nothing of it ends the cell or becomes HTML."""
    # Only an ampersand that begins a character reference is one in HTML.
    return re.sub(r"&(?=#?\w+;)", "&amp;", one_line(text)).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def one_line(text: str) -> str:
    """Return text with its line breaks, of whatever kind, made spaces."""
    return " ".join(text.splitlines())
