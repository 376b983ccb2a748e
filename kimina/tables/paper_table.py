"""A published table beside what was measured here, as data.

Each cell holds the published value, the measured one with its 95 % interval, and a verdict; each row that has a baseline
also holds the gain over it, published and measured. Terminal, exports, figures and page show what is computed here.

**Verdict on a level**, only where the run was evaluated on the benchmark that the publication reports, at the same k:
``within interval`` when the published value p lies in the measured interval [l, h]; else, with SE_m = (h - l) / (2 z) and
SE_p = sqrt(p (1 - p) / N) for N problems, ``not distinguishable`` when |m - p| < z sqrt(SE_m² + SE_p²), z = 1.96, and
``differs`` otherwise. Both are about the same problems, which makes this test conservative; published outcomes by problem,
which would allow a paired one, don't exist.

**Verdict on a gain**, whatever the benchmark: paired by problem (sign-flip test, exact McNemar's where each problem counts 0
or 1), p adjusted for the rows of the column (Holm). It is set beside the sign of the published gain.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from kimina.evaluation.comparison import PairedGain, holm, paired_gain, verdict
from kimina.evaluation.crossing import first_reached
from kimina.evaluation.estimators import exact_pass_at_k
from kimina.evaluation.intervals import Z_95, Interval, bootstrap_mean, prepare_bootstrap, rate_interval
from kimina.evaluation.problem_counts import ProblemCounts, mean_generations
from kimina.tables.curves import TrainingCurves
from kimina.tables.declaration import OF_TRAINING, Column, Metric, Published, Row, TableDeclaration, parse_metric

PAPER_SCHEMA = 1
TOKENS = frozenset({"tokens", "tokens_solved", "tokens_wrong"})


class RowStatus(StrEnum):
    """What there is of a row."""

    DONE = "done"
    QUOTED = "quoted"
    NOT_BUILT = "method not built"
    NOT_AT_THIS_SCALE = "not at this scale"
    NOT_RUN = "not run"
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    FAILED = "failed"


class Verdict(StrEnum):
    """How a measured value stands to the published one."""

    WITHIN = "within interval"
    NOT_DISTINGUISHABLE = "not distinguishable"
    DIFFERS = "differs"
    NOT_RUN = "not run"
    NOT_PUBLISHED = "not published"
    OTHER_BENCHMARK = "other benchmark"
    UNDEFINED = "undefined"
    REFUSED = "refused"
    NOT_MEASURABLE = "only quoted"


@dataclass(frozen=True)
class MeasuredRun:
    """One evaluated model and how it came about.

    ``evaluation`` is the name of the evaluation settings, ``expected`` the number of problems of its prompt set, ``samples``
    the samples a problem was to get, ``most_unverified`` the share of samples without a verdict above which no number is
    given. ``facts`` are for a reader (seed, Lean version, seconds), ``folder`` holds the samples.
    """

    problems: tuple[ProblemCounts, ...]
    evaluation: str
    expected: int
    samples: int
    most_unverified: float
    folder: str = ""
    curves: TrainingCurves | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unverified_share(self) -> float:
        """Share of the samples about which nothing is known; those that are missing count."""
        wanted = self.expected * self.samples
        return 1 - sum(problem.n for problem in self.problems) / wanted if wanted else 1.0


@dataclass(frozen=True)
class RowState:
    """A declared row with what there is of it. ``command`` makes it; ``run`` is None unless it is done."""

    row: Row
    status: RowStatus
    detail: str = ""
    command: str | None = None
    folder: str | None = None
    run: MeasuredRun | None = None


@dataclass(frozen=True)
class Cell:
    """One metric of one row. Rates are in [0, 1], lengths in tokens; what is undefined is None.

    ``gain`` is over the row's baseline, ``published_gain`` the difference of the published values.
    """

    column: Column
    published: Published | None
    published_value: float | None
    value: float | None = None
    interval: Interval | None = None
    problems: int = 0
    samples: int = 0
    generations: float | None = None
    verdict: Verdict = Verdict.NOT_RUN
    why: str = ""
    gain: PairedGain | None = None
    gain_p: float | None = None
    published_gain: float | None = None

    @property
    def is_rate(self) -> bool:
        """Whether the metric is a share; else it is a length in tokens, or whatever unit was published."""
        if self.column.metric is None:
            return self.published is not None and self.published.share is not None
        return parse_metric(self.column.metric).kind not in (*TOKENS, *OF_TRAINING)

    @property
    def unit(self) -> str:
        """Of a value that is no rate."""
        if self.column.metric is None and self.published is not None and self.published.unit is not None:
            return self.published.unit
        of_training = self.column.metric is not None and parse_metric(self.column.metric).kind in OF_TRAINING
        return "rollouts" if of_training else "tokens"

    @property
    def gain_verdict(self) -> str:
        """``higher``, ``lower``, ``not distinguishable``, or an empty text where there is no gain."""
        return "" if self.gain is None or self.gain_p is None else verdict(self.gain.gain, self.gain_p)

    @property
    def agreement(self) -> str:
        """What the measured gain says about the published one's sign; empty where either is missing."""
        if not self.gain_verdict or not self.published_gain:
            return ""
        if self.gain_verdict == "not distinguishable":
            return "not distinguishable from none"
        return "same direction" if (self.gain.gain > 0) == (self.published_gain > 0) else "opposite direction"


@dataclass(frozen=True)
class PaperRow:
    """A row and its cells, by column id."""

    state: RowState
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class PaperTable:
    """The whole table; ``words`` are what was typed beside the table's name."""

    declaration: TableDeclaration
    rows: tuple[PaperRow, ...]
    words: tuple[str, ...]
    command: str
    seed: int

    @property
    def runs(self) -> list[tuple[Row, MeasuredRun]]:
        """The rows that were measured."""
        return [(row.state.row, row.state.run) for row in self.rows if row.state.run is not None]

    @property
    def distinct_runs(self) -> list[tuple[Row, MeasuredRun]]:
        """The measured rows without those that are the same run as an earlier one: twins of models of different size."""
        return list({run.folder or row.id: (row, run) for row, run in reversed(self.runs)}.values())[::-1]

    def counts(self) -> dict[RowStatus, int]:
        """How many rows there are of each status, those without a row left out."""
        statuses = [row.state.status for row in self.rows]
        return {status: statuses.count(status) for status in RowStatus if status in statuses}


def build_table(
    declaration: TableDeclaration, states: Sequence[RowState], *, words: Sequence[str], command: str, seed: int
) -> PaperTable:
    """Measure every row that is done and compare it with what was published. ``seed`` is the bootstrap's."""
    by_id = {state.row.id: state for state in states}
    _prepare_intervals(declaration, by_id, seed)
    cells = {
        state.row.id: {column.id: _cell(declaration, column, state, by_id, seed) for column in declaration.columns}
        for state in states
    }
    for column in declaration.columns:
        tested = [row_id for row_id, row in cells.items() if row[column.id].gain is not None]
        adjusted = holm([cells[row_id][column.id].gain.p for row_id in tested])
        for row_id, p in zip(tested, adjusted, strict=True):
            cells[row_id][column.id] = replace(cells[row_id][column.id], gain_p=p)
    rows = tuple(PaperRow(state, cells[state.row.id]) for state in states)
    return PaperTable(declaration, rows, tuple(words), command, seed)


def _prepare_intervals(declaration: TableDeclaration, states: Mapping[str, RowState], seed: int) -> None:
    """Have the intervals of all cells and gains computed together."""
    wanted: list[list[float]] = []
    for column in declaration.columns:
        if column.metric is None:
            continue
        metric = parse_metric(column.metric)
        if metric.kind in OF_TRAINING:
            continue
        values = {row_id: per_problem(state.run, metric) for row_id, state in states.items() if state.run is not None}
        for row_id, of_row in values.items():
            wanted.append([float(value) for value in of_row.values() if value is not None])
            before = values.get(states[row_id].row.baseline or "", {})
            pairs = [(before[name], value) for name, value in of_row.items() if name in before]
            wanted.append([float(b - a) for a, b in pairs if a is not None and b is not None])
    prepare_bootstrap(wanted, seed=seed)


def published_number(published: Published | None, problems: int | None) -> float | None:
    """The published value as a number: a rate in [0, 1] (exact where the count is known), or a length in tokens."""
    if published is None:
        return None
    if published.count is not None and problems:
        return published.count / problems
    return published.number if published.share is None else published.share


def _cell(
    declaration: TableDeclaration, column: Column, state: RowState, states: Mapping[str, RowState], seed: int
) -> Cell:
    problems = declaration.benchmark.problems if declaration.benchmark else None
    published = state.row.published.get(column.id)
    number = published_number(published, problems)
    cell = Cell(column, published, number)
    baseline = states.get(state.row.baseline) if state.row.baseline else None
    if baseline is not None:
        of_baseline = published_number(baseline.row.published.get(column.id), problems)
        if number is not None and of_baseline is not None:
            cell = replace(cell, published_gain=number - of_baseline)
    run = state.run
    if column.metric is None:
        return replace(cell, verdict=Verdict.NOT_MEASURABLE)
    if run is None:
        return replace(cell, why=state.detail or state.status.value)
    if run.unverified_share > run.most_unverified:
        why = f"{100 * run.unverified_share:.1f} % of the samples have no verdict, {100 * run.most_unverified:g} % are allowed"
        return replace(cell, verdict=Verdict.REFUSED, why=why)
    metric = parse_metric(column.metric)
    if metric.kind in OF_TRAINING:
        return _of_training(cell, metric, run)
    values = per_problem(run, metric)
    defined = [value for value in values.values() if value is not None]
    cell = replace(cell, problems=len(defined), samples=run.samples)
    if not defined:
        k = f": {metric.k} verified samples a problem are needed" if metric.k else ""
        if metric.fixed and all(problem.n_fixed is None for problem in run.problems):
            k = ": it was evaluated without fix turns (evaluation.fix_turns=1 makes them)"
        return replace(cell, verdict=Verdict.UNDEFINED, why=f"{column.metric} is undefined{k}")
    floats = [float(value) for value in defined]
    interval = (bootstrap_mean if metric.kind in TOKENS else rate_interval)(floats, seed=seed)
    cell = replace(cell, value=math.fsum(floats) / len(floats), interval=interval)
    if metric.fixed:
        cell = replace(cell, generations=mean_generations(run.problems, metric.k))
    cell = replace(cell, verdict=_verdict(declaration, cell, run))
    if baseline is not None and baseline.run is not None and baseline.run.unverified_share <= baseline.run.most_unverified:
        before = per_problem(baseline.run, metric)
        shared = [name for name in values if name in before]
        gain = paired_gain([before[name] for name in shared], [values[name] for name in shared], seed=seed)
        cell = replace(cell, gain=gain)
    return cell


def _of_training(cell: Cell, metric: Metric, run: MeasuredRun) -> Cell:
    curve = run.curves.validation if run.curves is not None else []
    if not curve:
        why = "training was not validated (trainer.test_freq=5 does it every five steps)"
        return replace(cell, verdict=Verdict.UNDEFINED, why=why)
    reached = first_reached(curve, metric.k / 100)
    if reached is None:
        return replace(cell, verdict=Verdict.UNDEFINED, why=f"not reached in {curve[-1][0]:.0f} rollouts")
    return replace(cell, value=reached, verdict=Verdict.NOT_PUBLISHED)


def _verdict(declaration: TableDeclaration, cell: Cell, run: MeasuredRun) -> Verdict:
    p, m, interval = cell.published_value, cell.value, cell.interval
    if p is None or m is None:
        return Verdict.NOT_PUBLISHED
    benchmark = declaration.benchmark
    if benchmark is None or benchmark.problems is None or run.evaluation != benchmark.evaluation:
        return Verdict.OTHER_BENCHMARK
    if interval is not None and interval.low <= p <= interval.high:
        return Verdict.WITHIN
    reach = Z_95 * math.hypot(
        (interval.high - interval.low) / (2 * Z_95) if interval else 0.0,
        math.sqrt(p * (1 - p) / benchmark.problems) if cell.is_rate else 0.0,
    )
    return Verdict.NOT_DISTINGUISHABLE if abs(m - p) < reach else Verdict.DIFFERS


def per_problem(run: MeasuredRun, metric: Metric) -> dict[str, Fraction | None]:
    """The metric of each problem by its id, exactly; None where it is undefined.

    The means over problems that tables show are means of these, so that a paired comparison and a mean agree.
    """
    return {problem.problem_id: _of_problem(problem, metric) for problem in run.problems}


def _of_problem(problem: ProblemCounts, metric: Metric) -> Fraction | None:
    k = metric.k
    n, c = (problem.n_fixed or 0, problem.c_fixed or 0) if metric.fixed else (problem.n, problem.c)
    match metric.kind:
        case "pass":
            return exact_pass_at_k(n, c, k)
        case "proved":
            return exact_pass_at_k(problem.n_proof, problem.c_proof, k)
        case "best":
            # Of as many draws as there are samples at most, like verl's.
            return 1 - (1 - Fraction(c, n)) ** k if n >= k else None
        case "proof_rate":
            return _share(problem.c_proof, problem.n_proof)
        case "format_rate":
            return _share(problem.well_formed, problem.samples)
        case "truncated":
            return _share(problem.truncated, problem.samples)
        case "tokens":
            return _share(problem.tokens, problem.samples)
        case "tokens_solved":
            return _share(problem.tokens_solved, problem.c)
        case "tokens_wrong":
            return _share(problem.tokens_wrong, problem.wrong)
    raise ValueError(f"no such metric: {metric.kind}")


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None
