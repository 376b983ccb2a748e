"""The figures of a paper table: all of its measured rows in one panel each."""

from dataclasses import replace
from typing import Any

from kimina.evaluation.estimators import powers_of_two
from kimina.evaluation.intervals import Interval, bootstrap_mean, prepare_bootstrap, rate_interval
from kimina.evaluation.result import Rate
from kimina.tables.curves import TrainingCurves, smoothed
from kimina.tables.declaration import Metric, Row
from kimina.tables.figures import Drawing, Theme, legend, line, panel, pass_curves, percent_axis, step_axis
from kimina.tables.paper_table import MeasuredRun, PaperTable, per_problem, published_number

STYLES = ("-", (0, (4, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
_LONG = 30


def paper_drawings(table: PaperTable) -> list[Drawing]:
    """The declared figures for which there is data."""
    runs, wanted = table.distinct_runs, table.declaration.figures
    trained = _trained(table)
    made: list[Drawing] = []
    if "pass_at_k" in wanted and runs:
        made.append(
            Drawing(
                "pass_at_k",
                "Solved within k attempts",
                "Unbiased pass@k on a logarithmic axis of k; bands are 95 % intervals over problems.",
                lambda theme: _pass_figure(table, runs, theme),
            )
        )
    if "tokens" in wanted and (runs or _published_points(table)):
        made.append(
            Drawing(
                "tokens",
                "Accuracy against response length",
                "pass@1 against the mean length of a response; bars are 95 % intervals over problems. Hollow: as published, on the "
                "publication's own benchmark.",
                lambda theme: _tokens_figure(table, runs, theme),
            )
        )
    if "training" in wanted and trained:
        made.append(
            Drawing(
                "training",
                "Proof rate in training",
                "Share of samples that Lean proved. Thin: each step; thick: mean of five steps.",
                lambda theme: _curves_figure(trained, "proof_rate", theme),
            )
        )
    validated = [(row, curves) for row, curves in trained if curves.validation]
    if "validation" in wanted and validated:
        made.append(
            Drawing(
                "validation",
                "Proof rate on the development theorems",
                "Share of samples that Lean proved, against the rollouts trained on so far. Thin: each validation; thick: mean of five.",
                lambda theme: _curves_figure(validated, "validation", theme),
            )
        )
    if "violations" in wanted and trained:
        made.append(
            Drawing(
                "violations",
                "Format violations in training",
                "Violated checks a sample, all checks together (a sample may violate several). Mean of five steps.",
                lambda theme: _violations_figure(trained, theme),
            )
        )
    if "length" in wanted and trained:
        made.append(
            Drawing(
                "length",
                "Response length in training",
                "Mean length of a response in tokens of the model's tokenizer.",
                lambda theme: _curves_figure(trained, "response_length", theme),
            )
        )
    return made


def pass_curve(run: MeasuredRun, seed: int) -> list[tuple[int, Rate]]:
    """pass@k for k = 1, 2, 4, … on the problems that have samples enough for the largest k that nine of ten have."""
    sizes = sorted(problem.n for problem in run.problems)
    enough = sizes[len(sizes) // 10] if sizes else 0
    ks = powers_of_two(enough)
    shown = replace(run, problems=tuple(problem for problem in run.problems if ks and problem.n >= ks[-1]))
    points = {k: [float(value) for value in per_problem(shown, Metric("pass", k, False)).values() if value is not None] for k in ks}
    prepare_bootstrap(points.values(), seed=seed)
    return [(k, Rate(sum(values) / len(values), rate_interval(values, seed=seed), len(values))) for k, values in points.items()]


def _trained(table: PaperTable) -> list[tuple[Row, TrainingCurves]]:
    return [(row, run.curves) for row, run in table.distinct_runs if run.curves is not None and run.curves.steps and row.model == "after"]


def _look(index: int, theme: Theme) -> tuple[str, Any]:
    """Colour and line style of the series with this number; no two of the first 24 look alike."""
    return theme.series[index % len(theme.series)], STYLES[index // len(theme.series) % len(STYLES)]


def _short(title: str) -> str:
    return title if len(title) <= _LONG else title[: _LONG - 1] + "…"


def _height(series: int) -> float:
    # The legend stands above the axes, two entries a line.
    return 3.0 + 0.22 * ((series + 1) // 2)


def _pass_figure(table: PaperTable, runs: list[tuple[Row, MeasuredRun]], theme: Theme) -> Any:
    figure, axes = panel(theme, _height(len(runs)))
    curves = []
    for index, (row, run) in enumerate(runs):
        curves.append((_short(row.title), pass_curve(run, table.seed), *_look(index, theme)))
    pass_curves(axes, curves, theme, legend_columns=2)
    return figure


def _published_points(table: PaperTable) -> list[tuple[str, float, float]]:
    """(row, tokens, accuracy) of the rows whose publication gives both."""
    columns = table.declaration.columns
    accuracy = next((column for column in columns if column.metric == "pass@1"), None)
    tokens = next((column for column in columns if column.metric == "tokens"), None)
    if accuracy is None or tokens is None:
        return []
    problems = table.declaration.benchmark.problems if table.declaration.benchmark else None
    points = []
    for row in table.rows:
        published = row.state.row.published
        x = published_number(published.get(tokens.id), problems)
        y = published_number(published.get(accuracy.id), problems)
        if x is not None and y is not None:
            points.append((row.state.row.title, x, y))
    return points


def _tokens_figure(table: PaperTable, runs: list[tuple[Row, MeasuredRun]], theme: Theme) -> Any:
    published = _published_points(table)
    figure, axes = panel(theme, _height(len(runs) + len(published)))
    for index, (row, run) in enumerate(runs):
        x, x_span = _mean(run, Metric("tokens", None, False), table.seed)
        y, y_span = _mean(run, Metric("pass", 1, False), table.seed)
        if x is None or y is None:
            continue
        colour, _ = _look(index, theme)
        axes.errorbar(
            x, y, xerr=_bars(x, x_span), yerr=_bars(y, y_span), fmt="o", color=colour, markersize=6, linewidth=1.2,
            label=_short(row.title),
        )  # fmt: skip
    for index, (title, x, y) in enumerate(published):
        axes.plot(x, y, "o", markerfacecolor="none", color=_look(index, theme)[0], markersize=7, label=_short(f"{title} (publ.)"))
    axes.set_xlabel("mean tokens of a response")
    percent_axis(axes, None)
    legend(axes, theme, 2)
    return figure


def _mean(run: MeasuredRun, metric: Metric, seed: int) -> tuple[float | None, Interval | None]:
    values = [float(value) for value in per_problem(run, metric).values() if value is not None]
    return (sum(values) / len(values), bootstrap_mean(values, seed=seed)) if values else (None, None)


def _bars(value: float, interval: Interval | None) -> list[list[float]] | None:
    return [[max(0.0, value - interval.low)], [max(0.0, interval.high - value)]] if interval else None


def _curves_figure(trained: list[tuple[Row, TrainingCurves]], name: str, theme: Theme) -> Any:
    figure, axes = panel(theme, _height(len(trained)))
    for index, (row, curves) in enumerate(trained):
        colour, _ = _look(index, theme)
        line(axes, getattr(curves, name), colour, _short(row.title), dashed=index >= len(theme.series))
    step_axis(axes)
    if name == "validation":
        axes.set_xlabel("rollouts")
    if name in ("proof_rate", "validation"):
        percent_axis(axes, None)
    else:
        axes.set_ylim(bottom=0)
        axes.set_ylabel("tokens", fontsize=9)
    legend(axes, theme, 2)
    return figure


def _violations_figure(trained: list[tuple[Row, TrainingCurves]], theme: Theme) -> Any:
    figure, axes = panel(theme, _height(len(trained)))
    for index, (row, curves) in enumerate(trained):
        totals: dict[int, float] = {step: 0.0 for step, _ in curves.reward}
        for curve in curves.violations.values():
            for step, value in curve:
                totals[step] = totals.get(step, 0.0) + value
        colour, style = _look(index, theme)
        smooth = smoothed(sorted(totals.items()))
        axes.plot([x for x, _ in smooth], [y for _, y in smooth], color=colour, linestyle=style, linewidth=1.7, label=_short(row.title))
    step_axis(axes)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("violations a sample", fontsize=9)
    legend(axes, theme, 2)
    return figure
