"""The figures of a report, drawn without a display.

Each function returns a matplotlib figure for one theme; `draw_all` makes them all. A figure is a single panel of the width
of a phone, so that its text stays readable on one; a page puts several side by side.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kimina.evaluation.estimators import powers_of_two
from kimina.evaluation.result import Rate, pass_curve
from kimina.tables.curves import Curve, TrainingCurves, smoothed
from kimina.tables.result_table import FAMILY, LEVEL, ResultTable, Row
from kimina.tables.wording import gain_text

WIDTH_IN = 5.2
HEIGHT_IN = 3.2
SHOWN_VIOLATIONS = 6


@dataclass(frozen=True)
class Theme:
    """Colours of a figure; the series colours are told apart with red-green blindness and in grey."""

    name: str
    paper: str
    ink: str
    muted: str
    rule: str
    before: str
    after: str
    series: tuple[str, ...]


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1f24",
    muted="#667079",
    rule="#e3e6e9",
    before="#8b949c",
    after="#0b5fa5",
    series=("#0b5fa5", "#c8501e", "#2c8a6b", "#8d5bb5", "#b58a00", "#5b6b7a"),
)
DARK = Theme(
    name="dark",
    paper="#181c20",
    ink="#e6e9ec",
    muted="#98a2ab",
    rule="#2e343a",
    before="#8d97a0",
    after="#6db7f2",
    series=("#6db7f2", "#f0936a", "#6fcbac", "#c3a0e2", "#dfbf57", "#a9b6c2"),
)


@dataclass(frozen=True)
class Drawing:
    """One figure: file name without suffix, title, what it shows in a sentence, and how to draw it in a theme."""

    name: str
    title: str
    caption: str
    draw: Callable[[Theme], Any]


def drawings(table: ResultTable, curves: TrainingCurves) -> list[Drawing]:
    """Return the figures for which there is data, in the order of the page."""
    both = _pass_curves(table)
    result = [
        Drawing(
            "pass_at_k",
            "Solved within k attempts",
            "Unbiased pass@k on a logarithmic axis of k; bands are 95 % intervals over theorems. Curves that meet at the right "
            "mean sharpening; a gap that stays means new ability.",
            lambda theme: _pass_figure(*both, theme),
        )
    ]
    if curves.reward or curves.proof_rate:
        result.append(
            Drawing(
                "reward",
                "Reward and proof rate in training",
                "Share of samples that Lean proved, and mean reward, which also asks for the format. Thin: each step; "
                "thick: mean of five steps.",
                lambda theme: _reward_figure(curves, theme),
            )
        )
    if curves.violations:
        result.append(
            Drawing(
                "violations",
                "Format violations in training",
                "Share of samples that violate each check; a sample may violate several. Mean of five steps.",
                lambda theme: _violations_figure(curves, theme),
            )
        )
    if curves.response_length:
        result.append(
            Drawing(
                "response_length",
                "Response length in training",
                "Mean length of a response in tokens of the model's tokenizer.",
                lambda theme: _length_figure(curves, theme),
            )
        )
    for group, name, title in ((LEVEL, "by_level", "By level"), (FAMILY, "by_family", "By family")):
        if len(table.grouped(group)) > 1:
            result.append(_group_drawing(table, group, name, title))
    return result


def render(figure: Any, kind: str) -> bytes:
    """Return a figure as ``png`` or ``svg``, the same bytes for the same data."""
    import matplotlib

    target = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "kimina"}):
        figure.savefig(target, format=kind, dpi=200, facecolor=figure.get_facecolor(), metadata=metadata)
    return target.getvalue()


def png_with_title(drawing: Drawing, theme: Theme = LIGHT) -> bytes:
    """Return a figure for a file of its own: on the page the title stands beside it, here within it."""
    figure = drawing.draw(theme)
    figure.suptitle(drawing.title, x=0.015, ha="left", fontsize=11, fontweight="bold", color=theme.ink)
    return render(figure, "png")


def _group_drawing(table: ResultTable, group: str, name: str, title: str) -> Drawing:
    return Drawing(
        name,
        f"{title}: pass@{table.ks[0]} before and after",
        "Grey: before, colour: after; at the right the gain in points, grey where it is not distinguishable from none.",
        lambda theme: _group_figure(table.grouped(group), theme),
    )


def panel(theme: Theme, height: float = HEIGHT_IN) -> tuple[Any, Any]:
    """An empty figure of one panel and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, height), layout="constrained", facecolor=theme.paper)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor(theme.paper)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.muted)
    axes.tick_params(colors=theme.muted, labelsize=9, length=3, width=0.8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color=theme.rule, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_color(theme.muted)
    axes.yaxis.label.set_color(theme.muted)
    return figure, axes


def percent_axis(axes: Any, top: float | None) -> None:
    """Make the vertical axis one of shares."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_ylim(0, top)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))


def legend(axes: Any, theme: Theme, columns: int = 3) -> None:
    """Put the legend above the axes."""
    # Above the axes, where it hides no data.
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=9,
        labelcolor=theme.ink,
        handlelength=1.4,
        columnspacing=1.4,
        borderaxespad=0.2,
    )


PassCurve = list[tuple[int, Rate]]


def _pass_curves(table: ResultTable) -> tuple[PassCurve, PassCurve]:
    ks = powers_of_two(min(table.before.samples_per_problem, table.after.samples_per_problem))
    before, after = (pass_curve(result, ks, seed=table.seed) for result in (table.before, table.after))
    return before, after


def _pass_figure(before: PassCurve, after: PassCurve, theme: Theme) -> Any:
    figure, axes = panel(theme)
    pass_curves(axes, [("before", before, theme.before, "-"), ("after", after, theme.after, "-")], theme)
    return figure


def pass_curves(axes: Any, curves: Sequence[tuple[str, PassCurve, str, Any]], theme: Theme, *, legend_columns: int = 3) -> None:
    """Draw pass@k curves, given as (label, curve, colour, line style), with the bands of their intervals."""
    for label, curve, colour, style in curves:
        shown = [(k, rate) for k, rate in curve if rate.value is not None]
        x = [k for k, _ in shown]
        low = [rate.interval.low if rate.interval else rate.value for _, rate in shown]
        high = [rate.interval.high if rate.interval else rate.value for _, rate in shown]
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        values = [rate.value for _, rate in shown]
        axes.plot(x, values, color=colour, linestyle=style, marker="o", markersize=4, linewidth=1.8, label=label)
    ticks = sorted({k for _, curve, _, _ in curves for k, _ in curve})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set_xlabel("k attempts")
    percent_axis(axes, 1.0)
    legend(axes, theme, legend_columns)


def line(axes: Any, curve: Curve, colour: str, label: str, *, dashed: bool = False) -> None:
    """Draw a curve thin and its moving average thick."""
    axes.plot([step for step, _ in curve], [value for _, value in curve], color=colour, linewidth=0.8, alpha=0.35)
    smooth = smoothed(curve)
    axes.plot(
        [step for step, _ in smooth],
        [value for _, value in smooth],
        color=colour,
        linewidth=1.9,
        linestyle=(0, (4, 1.6)) if dashed else "-",
        label=label,
    )


def step_axis(axes: Any) -> None:
    """Make the horizontal axis one of training steps."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlabel("training step")
    axes.margins(x=0.01)


def _reward_figure(curves: TrainingCurves, theme: Theme) -> Any:
    figure, axes = panel(theme)
    if curves.proof_rate:
        line(axes, curves.proof_rate, theme.series[1], "proved by Lean", dashed=True)
    if curves.reward:
        line(axes, curves.reward, theme.series[0], "reward")
    step_axis(axes)
    values = [value for curve in (curves.reward, curves.proof_rate) for _, value in curve]
    if min(values) >= 0:
        percent_axis(axes, None)
    else:
        axes.axhline(0, color=theme.muted, linewidth=0.8)
    legend(axes, theme)
    return figure


def _violations_figure(curves: TrainingCurves, theme: Theme) -> Any:
    figure, axes = panel(theme, height=HEIGHT_IN + 0.35)
    commonest = sorted(curves.violations.items(), key=lambda item: (-sum(v for _, v in item[1]), item[0]))
    styles = ("-", (0, (4, 1.6)), (0, (1.2, 1.2)))
    for index, (code, curve) in enumerate(commonest[:SHOWN_VIOLATIONS]):
        smooth = smoothed(curve)
        axes.plot(
            [step for step, _ in smooth],
            [value for _, value in smooth],
            color=theme.series[index],
            linewidth=1.7,
            linestyle=styles[index % len(styles)],
            label=code.replace("_", " "),
        )
    step_axis(axes)
    percent_axis(axes, None)
    legend(axes, theme, columns=2)
    return figure


def _length_figure(curves: TrainingCurves, theme: Theme) -> Any:
    figure, axes = panel(theme)
    line(axes, curves.response_length, theme.series[0], "mean tokens")
    step_axis(axes)
    # From zero, so that a small drift does not look like a change of habit.
    axes.set_ylim(0, 1.15 * max(value for _, value in curves.response_length))
    axes.set_ylabel("tokens", fontsize=9)
    return figure


def _group_figure(rows: list[Row], theme: Theme) -> Any:
    from matplotlib.ticker import FuncFormatter

    figure, axes = panel(theme, height=0.8 + 0.27 * len(rows))
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=theme.rule, linewidth=0.8)
    for position, row in enumerate(rows):
        cell = row.cells[0]
        if cell.before.value is None or cell.after.value is None:
            continue
        shown = cell.verdict in ("higher", "lower")
        axes.plot([cell.before.value, cell.after.value], [position] * 2, color=theme.before, linewidth=1.6, alpha=0.7)
        axes.plot(cell.before.value, position, "o", color=theme.before, markersize=5.5)
        axes.plot(cell.after.value, position, "o", color=theme.after, markersize=6.5)
        axes.annotate(
            gain_text(cell.gain),
            (1.0, position),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=theme.ink if shown else theme.muted,
            fontweight="bold" if shown else "normal",
            annotation_clip=False,
        )
    axes.set_yticks(range(len(rows)), [row.name if row.group == FAMILY else f"level {row.name}" for row in rows])
    for label in axes.get_yticklabels():
        label.set_color(theme.ink)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    return figure
