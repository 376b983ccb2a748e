"""Declared tables: what a paper printed, and which experiments and metrics stand against it.

A file ``experiments/tables/<name>.yaml`` names the rows, the columns and the published values of one table or figure. This
module reads it into frozen dataclasses and refuses whatever a later stage would trip over: an experiment that has no file,
a column that doesn't exist, a percentage that isn't the stated count. Published values stay the text that was printed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any, NoReturn

import yaml

from kimina.errors import UserError, nearest
from kimina.strict_yaml import UniqueKeys

_REPOSITORY = Path(__file__).resolve().parents[2]
TABLES = _REPOSITORY / "experiments" / "tables"

KINDS = ("paper", "comparison")
MODELS = ("after", "start")
FIGURES = ("pass_at_k", "tokens", "training", "validation", "violations", "length")
#: Metrics of k samples a problem, and those that are shares or means over samples.
AT_K = ("pass", "best", "proved")
OVER_SAMPLES = ("proof_rate", "format_rate", "tokens", "tokens_solved", "tokens_wrong", "truncated")
#: Metrics of a training run: rollouts until the model proves so many percent of the development theorems' samples.
OF_TRAINING = ("rollouts_to",)
#: Those of AT_K that can count a fix turn.
FIXABLE = ("pass", "best")

#: Units whose values are shares of 1, as some figures print accuracies.
SHARE_UNITS = ("accuracy", "reward")

_ID = re.compile(r"[a-z0-9][a-z0-9_]*")
_PERCENT = re.compile(r"\d{1,3}(\.\d+)?")
_VALUE = re.compile(r"[~<>]?\d[\d,]*(\.\d+)?(e-?\d+)?|~?\.\d+")
_SETTING = re.compile(r"[\w.]+=\S+")
_DIGITISED = re.compile(r"±\d+(\.\d+)?")


@dataclass(frozen=True)
class Metric:
    """What a column measures.

    Attributes:
        kind: one of AT_K (``pass``: unbiased pass@k; ``best``: verl's, with replacement; ``proved``: pass@k with the format
            ignored), of OVER_SAMPLES or of OF_TRAINING.
        k: samples a problem, percent for OF_TRAINING, None for a share or mean over samples.
        fixed: each failed first attempt had one fix turn with Lean's feedback.
    """

    kind: str
    k: int | None = None
    fixed: bool = False

    def __str__(self) -> str:
        """Return the metric as a declaration writes it."""
        return self.kind if self.k is None else f"{self.kind}@{self.k}{'+fix' if self.fixed else ''}"


@dataclass(frozen=True)
class Benchmark:
    """What the published numbers are about.

    Attributes:
        problems: number of problems, None where the paper doesn't say.
        evaluation: the option of ``evaluation`` that measures the same, None where there is none; levels of runs under
            another evaluation can't be compared with the published ones.
    """

    name: str
    problems: int | None
    evaluation: str | None


@dataclass(frozen=True)
class Published:
    """One printed value; the texts are exactly what was printed.

    Attributes:
        percent: a percentage without its sign, such as ``"76.23"``.
        count: solved problems, of the benchmark's ``problems``.
        value: a number that is no percentage, such as ``"~5,000"``, in ``unit``.
        digitised: how well it could be read off a figure, such as ``"±0.1"``; None for a printed number.
        also: other values that were published for the same thing.
    """

    percent: str | None
    count: int | None
    value: str | None
    unit: str | None
    source: str
    digitised: str | None
    also: tuple["Published", ...] = ()

    @property
    def number(self) -> float:
        """The value as a number: percentage points for ``percent``, else ``value`` in its unit."""
        text = self.percent if self.percent is not None else self.value
        assert text is not None
        return float(text.lstrip("~<>").replace(",", ""))

    @property
    def share(self) -> float | None:
        """The value as a share of 1, None where its unit is no share (tokens, counts)."""
        if self.percent is not None:
            return self.number / 100
        return self.number if self.unit in SHARE_UNITS else None


@dataclass(frozen=True)
class Column:
    """A column. ``metric`` is None where only published values stand in it, because nothing here measures the same."""

    id: str
    title: str
    metric: str | None
    budget: str | None


@dataclass(frozen=True)
class Row:
    """A row. ``experiment`` is None for a published row that is only quoted.

    Attributes:
        model: ``after`` RL, or ``start``, the model that RL starts from.
        baseline: id of the row that gains are against.
        published: by column id.
        settings: words of the command line that the row has beside its experiment, such as ``seed=2``.
    """

    id: str
    title: str
    experiment: str | None
    model: str
    baseline: str | None
    published: Mapping[str, Published]
    note: str | None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableDeclaration:
    """A declared table. Of kind ``comparison``, a run before and after RL, it has a title and nothing else."""

    name: str
    kind: str
    title: str
    source: str | None
    benchmark: Benchmark | None
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    figures: tuple[str, ...]
    notes: tuple[str, ...]

    def column(self, identifier: str) -> Column:
        """Return a column by its id."""
        return next(column for column in self.columns if column.id == identifier)

    def row(self, identifier: str) -> Row:
        """Return a row by its id."""
        return next(row for row in self.rows if row.id == identifier)


def load_table(name: str) -> TableDeclaration:
    """Read and check ``experiments/tables/<name>.yaml``.

    Raises:
        UserError: there is no such table, or its file is wrong; names the file, the row, the key and what exists.
    """
    names = sorted(path.stem for path in TABLES.glob("*.yaml"))
    if name not in names:
        near = _nearest_first(name, names)
        raise UserError(
            f"table={name}: there is no such table in experiments/tables.\n  tables: {', '.join(near)}\n"
            f"  type: python run.py stage=table table={near[0]}"
        )
    return read_table((TABLES / f"{name}.yaml").read_text(encoding="utf-8"), name)


def read_table(text: str, name: str) -> TableDeclaration:
    """Read a declaration from its YAML text.

    Args:
        text: the text of the file.
        name: the table's name, that of the file without its suffix.

    Raises:
        UserError: as :func:`load_table`.
    """
    file = f"experiments/tables/{name}.yaml"
    try:
        tree = yaml.load(text, Loader=UniqueKeys)
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        where = f" in line {mark.line + 1}" if mark is not None else ""
        reason = error.problem if isinstance(error, yaml.MarkedYAMLError) else str(error).splitlines()[0]
        raise UserError(f"{file}: not readable as YAML{where}: {reason}.") from error
    except RecursionError as error:
        raise UserError(f"{file}: not readable as YAML: nested too deeply.") from error
    top = _Node(file, "", tree)
    kind = top.choice("kind", KINDS)
    if kind == "comparison":
        top.only("kind", "title")
        return TableDeclaration(name, kind, top.text("title"), None, None, (), (), (), ())
    top.only("kind", "title", "source", "benchmark", "columns", "rows", "figures", "notes")
    source = top.text("source")
    benchmark = _benchmark(top.node("benchmark")) if "benchmark" in top.tree else None
    columns = tuple(_column(node) for node in top.nodes("columns"))
    _unique(top, "columns", [column.id for column in columns])
    problems = benchmark.problems if benchmark else None
    experiments = _experiments()
    rows = tuple(_row(node, columns, experiments, problems, source) for node in top.nodes("rows"))
    ids = [row.id for row in rows]
    _unique(top, "rows", ids)
    for row in rows:
        others = [other for other in ids if other != row.id]
        if row.baseline is not None and row.baseline not in others:
            raise _mistake(file, f"rows.{row.id}.baseline", f"there is no other row {row.baseline!r}", others, "rows")
    figures = tuple(top.texts("figures"))
    for figure in figures:
        if figure not in FIGURES:
            raise _mistake(file, "figures", f"there is no figure {figure!r}", _nearest_first(figure, FIGURES))
    return TableDeclaration(name, kind, top.text("title"), source, benchmark, columns, rows, figures, tuple(top.texts("notes")))


def parse_metric(text: str) -> Metric:
    """Read a metric as a column writes it: ``pass@32``, ``pass@32+fix``, ``best@8``, ``tokens``, ``rollouts_to@30``.

    Raises:
        UserError: there is no such metric.
    """
    if text in OVER_SAMPLES:
        return Metric(text)
    match = re.fullmatch(r"(\w+)@([1-9]\d{0,6})(\+fix)?", text)
    if match and match[1] in OF_TRAINING and not match[3] and int(match[2]) <= 100:
        return Metric(match[1], int(match[2]))
    if match and match[1] in AT_K and (not match[3] or match[1] in FIXABLE):
        return Metric(match[1], int(match[2]), bool(match[3]))
    known = [*(f"{kind}@32" for kind in AT_K), *(f"{kind}@32+fix" for kind in FIXABLE), *OVER_SAMPLES, *(f"{kind}@30" for kind in OF_TRAINING)]
    raise UserError(f"metric {text!r}: there is no such metric.\n  metrics: {', '.join(_nearest_first(text, known))}")


def percent_agrees(percent: str, count: int, problems: int) -> bool:
    """Tell whether ``percent``, as printed, is ``count`` of ``problems`` rounded (half up) or truncated.

    One zero at the end may stand for a digit that was not computed: 71.30 for 71.3 of 71.311.
    """
    printed = len(percent.partition(".")[2])
    computed = printed - 1 if printed and percent.endswith("0") else printed
    exact = Fraction(100 * count, problems)
    for digits in range(computed, printed + 1):
        scaled, wanted = exact * 10**digits, Fraction(percent) * 10**digits
        if wanted in (floor(scaled), floor(scaled + Fraction(1, 2))):
            return True
    return False


def _benchmark(node: "_Node") -> Benchmark:
    node.only("name", "problems", "evaluation")
    evaluation = node.optional_text("evaluation")
    options = sorted(path.stem for path in (_REPOSITORY / "conf" / "evaluation").glob("*.yaml"))
    if evaluation is not None and evaluation not in options:
        node.fail("evaluation", f"there is no option evaluation={evaluation}", _nearest_first(evaluation, options))
    return Benchmark(node.text("name"), node.optional_count("problems", least=1), evaluation)


def _column(node: "_Node") -> Column:
    node.only("id", "title", "metric", "budget")
    metric = node.optional_text("metric")
    if metric is not None:
        try:
            parse_metric(metric)
        except UserError as error:
            raise UserError(f"{node.file}: {node.path}.{error}") from error
    return Column(node.identifier(), node.text("title"), metric, node.optional_text("budget"))


def _row(node: "_Node", columns: Sequence[Column], experiments: Sequence[str], problems: int | None, source: str) -> Row:
    node.only("id", "title", "experiment", "model", "baseline", "published", "note", "settings")
    identifier = node.identifier()
    experiment = node.optional_text("experiment")
    if experiment is None and "model" in node.tree:
        node.fail("model", "a row that is only quoted (without experiment) has no model")
    if experiment is not None and experiment not in experiments:
        node.fail("experiment", f"there is no experiment {experiment!r}", _nearest_first(experiment, experiments))
    published: dict[str, Published] = {}
    if "published" in node.tree:
        ids = [column.id for column in columns]
        values = node.node("published")
        for key in values.tree:
            if key not in ids:
                values.fail(str(key), "there is no such column", _nearest_first(str(key), ids), "columns")
            published[key] = _published(values.node(key), problems, source)
    elif experiment is None:
        node.fail("published", "a row without experiment is a quoted one and needs published values")
    settings = tuple(node.texts("settings"))
    for word in settings:
        if not _SETTING.fullmatch(word):
            node.fail("settings", f"{word!r} is no word of the command line, such as seed=2")
    if settings and experiment is None:
        node.fail("settings", "a row that is only quoted (without experiment) has none")
    return Row(
        identifier,
        node.text("title"),
        experiment,
        node.choice("model", MODELS) if "model" in node.tree else "after",
        node.optional_text("baseline"),
        published,
        node.optional_text("note"),
        settings,
    )


def _published(node: "_Node", problems: int | None, source: str, *, inner: bool = False) -> Published:
    node.only("percent", "count", "value", "unit", "source", "digitised", *([] if inner else ["also"]))
    percent = node.optional_text("percent", _PERCENT, 'digits as printed, such as "71.30"')
    value = node.optional_text("value", _VALUE, 'a number as printed, such as "~5,000"')
    if (percent is None) == (value is None):
        node.fail("percent", "exactly one of percent and value must be given")
    if percent is not None and float(percent) > 100:
        node.fail("percent", f"{percent} is more than 100")
    count = node.optional_count("count", least=0)
    if count is not None:
        if problems is None or percent is None:
            node.fail("count", "a count needs a percent and benchmark.problems")
        if count > problems:
            node.fail("count", f"{count} of {problems} problems")
        if not percent_agrees(percent, count, problems):
            node.fail("count", f"{count} of {problems} is {100 * count / problems:.3f} %, not {percent}")
    unit = node.optional_text("unit")
    if (unit is None) != (value is None):
        node.fail("unit", "a value needs a unit, and a percent has none")
    also = () if inner else tuple(_published(one, problems, source, inner=True) for one in node.nodes("also", least=0))
    digitised = node.optional_text("digitised", _DIGITISED, 'the accuracy of the reading, such as "±0.1"')
    return Published(percent, count, value, unit, node.optional_text("source") or source, digitised, also)


def _experiments() -> list[str]:
    root = TABLES.parent
    files = (path for path in root.rglob("*.yaml") if TABLES not in path.parents)
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in files)


def _nearest_first(asked: str, names: Sequence[str]) -> list[str]:
    close = nearest(asked, names)
    return close + [name for name in names if name not in close]


def _mistake(file: str, path: str, problem: str, exists: Sequence[str] = (), label: str = "exists") -> UserError:
    lines = [f"{file}: {path}: {problem}." if path else f"{file}: {problem}."]
    if exists:
        shown = ", ".join(exists[:16]) + (f", and {len(exists) - 16} more" if len(exists) > 16 else "")
        lines.append(f"  {label}: {shown}")
    return UserError("\n".join(lines))


def _unique(node: "_Node", key: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for identifier in ids:
        if identifier in seen:
            node.fail(key, f"the id {identifier!r} stands twice")
        seen.add(identifier)


class _Node:
    """A mapping of the file, with its place in it, so that every complaint says where."""

    def __init__(self, file: str, path: str, tree: Any) -> None:
        self.file, self.path = file, path
        if not isinstance(tree, dict):
            raise _mistake(file, path, f"{tree!r} is no mapping of keys to values")
        self.tree: dict[str, Any] = tree

    def fail(self, key: str, problem: str, exists: Sequence[str] = (), label: str = "exists") -> NoReturn:
        raise _mistake(self.file, self._at(key), problem, exists, label)

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def only(self, *known: str) -> None:
        for key in self.tree:
            if key not in known:
                self.fail(str(key), "there is no such key", _nearest_first(str(key), known), "keys")

    def text(self, key: str) -> str:
        found = self.optional_text(key)
        if found is None:
            self.fail(key, "missing; a text must stand here")
        return found

    def optional_text(self, key: str, pattern: re.Pattern[str] | None = None, described: str = "a text") -> str | None:
        value = self.tree.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(key, f"{value!r} was read as a {type(value).__name__}; put quotes around it")
        if not value.strip() or (pattern is not None and not pattern.fullmatch(value)):
            self.fail(key, f"{value!r} is not {described}")
        return value

    def texts(self, key: str) -> list[str]:
        found = self.tree.get(key, [])
        if not isinstance(found, list) or not all(isinstance(entry, str) and entry.strip() for entry in found):
            self.fail(key, f"{found!r} is no list of texts")
        return found

    def choice(self, key: str, options: Sequence[str]) -> str:
        value = self.tree.get(key)
        if value not in options:
            self.fail(key, "missing" if value is None else f"{value!r} is none of them", options)
        return str(value)

    def optional_count(self, key: str, least: int) -> int | None:
        value = self.tree.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            self.fail(key, f"{value!r} is not a whole number of at least {least}")
        return value

    def identifier(self) -> str:
        value = self.text("id")
        if not _ID.fullmatch(value):
            self.fail("id", f"{value!r} is no id (small letters, digits and _)")
        return value

    def node(self, key: str) -> "_Node":
        if self.tree.get(key) is None:
            self.fail(key, "missing")
        return _Node(self.file, self._at(key), self.tree[key])

    def nodes(self, key: str, least: int = 1) -> list["_Node"]:
        """Return the entries of a list of mappings; the place of one is named by its id where it has one."""
        found = self.tree.get(key, [])
        if not isinstance(found, list) or len(found) < least:
            self.fail(key, f"{found!r} is no list of at least {least} entries")
        return [_Node(self.file, f"{self._at(key)}.{_label(entry, index)}", entry) for index, entry in enumerate(found)]


def _label(entry: Any, index: int) -> str:
    return str(entry["id"]) if isinstance(entry, dict) and isinstance(entry.get("id"), str) else str(index + 1)
