"""Writes what a run leaves for readers: result.json, figures, exports and the report page."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimina.durable import write_bytes, write_json, write_text
from kimina.tables.curves import training_curves
from kimina.tables.examples import choose_examples
from kimina.tables.export import to_csv, to_latex, to_markdown
from kimina.tables.figures import drawings, png_with_title
from kimina.tables.page import build_page
from kimina.tables.result_table import ResultTable
from kimina.tables.run_facts import RunFacts


@dataclass(frozen=True)
class ReportPaths:
    """The files of a report; ``figures`` by name (pass_at_k, reward, …)."""

    page: Path
    result: Path
    markdown: Path
    latex: Path
    csv: Path
    figures: dict[str, Path]

    def lines(self) -> list[str]:
        """Return what to print last: the page, the JSON and the figures."""
        folder = next(iter(self.figures.values())).parent if self.figures else None
        tables = f"{self.markdown} {self.latex.name} {self.csv.name}"
        return [
            f"report  {self.page}",
            f"result  {self.result}",
            f"tables  {tables}",
            *([f"figures {folder}{os.sep}*.png"] if folder else []),
        ]


def write_report(
    out_dir: str | os.PathLike[str],
    table: ResultTable,
    facts: RunFacts,
    *,
    metrics: Iterable[Mapping[str, Any]] = (),
    statements: Mapping[str, str] | None = None,
    informal: Mapping[str, str] | None = None,
) -> ReportPaths:
    """Write the report of a comparison into ``out_dir``; files of an earlier report are replaced.

    Args:
        table: made by `kimina.tables.compare`.
        metrics: rows of the training's ``metrics.jsonl``, for the curves.
        statements: Lean statement by problem id, for the examples; ``informal`` the same in words.

    Raises:
        InfrastructureError: a file cannot be written.
    """
    folder = Path(out_dir)
    curves = training_curves(metrics)
    shown = drawings(table, curves)
    figures = {
        drawing.name: write_bytes(folder / "figures" / f"{drawing.name}.png", png_with_title(drawing))
        for drawing in shown
    }
    page = build_page(table, facts, shown, choose_examples(table), statements or {}, informal or {})
    return ReportPaths(
        page=write_text(folder / "report.html", page),
        result=write_json(folder / "result.json", {"run": facts.to_dict(), **table.to_dict()}),
        markdown=write_text(folder / "table.md", to_markdown(table)),
        latex=write_text(folder / "table.tex", to_latex(table)),
        csv=write_text(folder / "table.csv", to_csv(table)),
        figures=figures,
    )
