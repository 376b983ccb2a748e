"""A published table beside measured runs: numbers by hand, verdicts, gains, and what is written."""

import csv
import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from kimina.evaluation.problem_counts import ProblemCounts, mean_generations
from kimina.tables.curves import training_curves
from kimina.tables.declaration import parse_metric, read_table
from kimina.tables.figures import DARK, LIGHT, render
from kimina.tables.paper_figures import paper_drawings, pass_curve
from kimina.tables.paper_table import MeasuredRun, RowState, RowStatus, Verdict, build_table, per_problem
from kimina.tables.paper_text import HEADINGS, lines, print_paper_table, to_csv, to_dict, to_latex, to_markdown

DECLARED = """
kind: paper
title: Provers & co
source: "a paper, table 1"
benchmark: {name: miniF2F-test, problems: 244, evaluation: minif2f}
columns:
  - {id: pass2, title: "Pass@2", metric: pass@2}
  - {id: fix2, title: "Pass@2 with error fixing", metric: pass@2+fix, budget: "up to 4 generations"}
  - {id: length, title: "Mean tokens", metric: tokens}
rows:
  - id: start
    title: Start
    experiment: kimina_rl/distill_1p7b
    model: start
    published: {pass2: {count: 122, percent: "50.00"}}
  - id: trained
    title: Trained
    experiment: kimina_rl/rl_1p7b_single_turn
    baseline: start
    published:
      pass2: {count: 183, percent: "75.00", also: [{percent: "75.4", source: "its headline"}]}
      length: {value: "1,200", unit: tokens}
    note: a note
  - {id: quoted, title: Another, published: {pass2: {percent: "80.1"}}}
figures: [pass_at_k, tokens, training, validation, violations, length]
"""


def problem(name: str, n: int = 4, c: int = 0, **fields) -> ProblemCounts:
    wrong = n - c
    known = dict(
        problem_id=name, family="f", level=1, samples=n, n=n, c=c, n_fixed=None, c_fixed=None, fixes=0, n_proof=n, c_proof=c, well_formed=n, truncated=0,
        wrong=wrong, tokens=100 * n, tokens_solved=80 * c, tokens_wrong=100 * n - 80 * c,
    )  # fmt: skip
    return ProblemCounts(**known | fields)


def run(problems, evaluation: str = "minif2f", **fields) -> MeasuredRun:
    problems = tuple(problems)
    known = dict(evaluation=evaluation, expected=len(problems), samples=4, most_unverified=0.01)
    return MeasuredRun(problems, **known | fields)


def table_of(start: MeasuredRun | None, trained: MeasuredRun | None, text: str = DECLARED):
    declared = read_table(text, "provers")
    runs = {"start": start, "trained": trained}
    states = [
        RowState(
            row,
            RowStatus.QUOTED if row.experiment is None else RowStatus.DONE if runs[row.id] else RowStatus.NOT_RUN,
            command=f"python run.py experiments={row.experiment}",
            run=runs.get(row.id),
        )
        for row in declared.rows
    ]
    return build_table(declared, states, words=["scale=nano"], command="python run.py stage=table", seed=0)


def cell(table, row: str, column: str):
    return next(line for line in table.rows if line.state.row.id == row).cells[column]


HALF = [problem(f"p{index}", c=4 if index < 122 else 0) for index in range(244)]
MOST = [problem(f"p{index}", c=4 if index < 183 else 0) for index in range(244)]


def test_the_value_is_the_mean_of_exact_pass_at_k():
    counts = [(4, 0), (4, 1), (4, 2), (4, 4)]
    table = table_of(run(problem(f"p{i}", n, c) for i, (n, c) in enumerate(counts)), None)
    # 1 - C(n-c, 2) / C(n, 2): 0, 1 - 3/6, 1 - 1/6, 1.
    assert cell(table, "start", "pass2").value == pytest.approx((0 + 1 / 2 + 5 / 6 + 1) / 4, rel=1e-15)
    assert (cell(table, "start", "pass2").problems, cell(table, "start", "pass2").samples) == (4, 4)
    assert cell(table, "start", "length").value == 100


def test_levels_are_compared_on_the_published_benchmark_only():
    table = table_of(run(HALF), run(MOST))
    assert cell(table, "start", "pass2").verdict is Verdict.WITHIN
    assert cell(table, "trained", "pass2").verdict is Verdict.WITHIN
    assert cell(table, "trained", "length").verdict is Verdict.DIFFERS
    unfixed = cell(table, "trained", "fix2")
    assert unfixed.verdict is Verdict.UNDEFINED and "without fix turns" in unfixed.why
    other = table_of(run(HALF, evaluation="nano"), run(MOST, evaluation="nano"))
    assert cell(other, "start", "pass2").verdict is Verdict.OTHER_BENCHMARK
    assert "levels are not compared" in to_markdown(other) and "levels are not compared" not in to_markdown(table)


@pytest.mark.parametrize(
    ("solved", "expected"), [(122, Verdict.WITHIN), (137, Verdict.NOT_DISTINGUISHABLE), (150, Verdict.DIFFERS)]
)
def test_verdicts_of_a_level_by_hand(solved: int, expected: Verdict):
    # Published 122 of 244: SE_p = sqrt(1/4 / 244) = 0.0320. Measured 137: m = 0.5615, SE_m = 0.0318, its interval begins at
    # about 0.499 or above; |m - p| = 0.0615 < 1.96 x 0.0451 = 0.0884. Measured 150: |m - p| = 0.1148 > 0.0878.
    table = table_of(run(problem(f"p{i}", c=4 if i < solved else 0) for i in range(244)), None)
    got = cell(table, "start", "pass2")
    low = solved / 244 - 1.96 * math.sqrt(solved / 244 * (1 - solved / 244) / 244)
    assert got.interval.low == pytest.approx(low, abs=0.004)
    if expected is Verdict.NOT_DISTINGUISHABLE and got.interval.low <= 0.5:
        expected = Verdict.WITHIN
    assert got.verdict is expected


def test_a_published_value_just_outside_the_interval_is_not_distinguishable():
    table = table_of(run(problem(f"p{i}", c=4 if i < 140 else 0) for i in range(244)), None)
    got = cell(table, "start", "pass2")
    assert got.interval.low > 0.5 and got.verdict is Verdict.NOT_DISTINGUISHABLE


def test_the_gain_is_paired_and_its_sign_set_beside_the_published_one():
    table = table_of(run(HALF), run(MOST))
    got = cell(table, "trained", "pass2")
    # 61 problems changed, all upwards: exact p = 2 / 2^61.
    assert got.gain.gain == pytest.approx(61 / 244) and got.gain.p == pytest.approx(2.0**-60)
    assert got.published_gain == pytest.approx((183 - 122) / 244)
    assert (got.gain_verdict, got.agreement) == ("higher", "same direction")
    worse = table_of(run(MOST), run(HALF))
    assert cell(worse, "trained", "pass2").agreement == "opposite direction"
    same = table_of(run(HALF), run(HALF))
    assert cell(same, "trained", "pass2").agreement == "not distinguishable from none"
    assert cell(table, "start", "pass2").gain is None


def test_a_published_difference_is_told_in_its_own_unit():
    text = DECLARED.replace("columns:\n", "columns:\n  - {id: rate, title: A benchmark}\n  - {id: effort, title: Effort}\n")
    start = '{rate: {value: ".338", unit: accuracy}, effort: {value: "1,200", unit: updates}, pass2: {count: 122'
    after = '      rate: {value: ".452", unit: accuracy}\n      effort: {value: "900", unit: updates}\n      length:'
    text = text.replace("{pass2: {count: 122", start).replace("      length:", after)
    table = table_of(run(HALF), run(MOST), text)
    shown = {texts[1]: texts[HEADINGS.index("published gain")] for row, _, texts in lines(table) if row.state.row.id == "trained"}
    assert shown["A benchmark"] == "+11.4" and shown["Effort"] == "−300 updates" and shown["Pass@2"] == "+25.0"


def test_p_values_are_adjusted_for_the_rows_of_a_column():
    text = DECLARED.replace("  - {id: quoted", "  - {id: again, title: Again, experiment: kimina_rl/rl_1p7b_single_turn, baseline: start}\n  - {id: quoted")
    declared = read_table(text, "provers")
    few = [problem(f"p{i}", c=4 if i < 6 else 0) for i in range(244)]
    none = [problem(f"p{i}") for i in range(244)]
    runs = {"start": run(none), "trained": run(few), "again": run(few)}
    states = [RowState(row, RowStatus.DONE if row.id in runs else RowStatus.QUOTED, run=runs.get(row.id)) for row in declared.rows]
    table = build_table(declared, states, words=[], command="", seed=0)
    got = cell(table, "trained", "pass2")
    assert got.gain.p == pytest.approx(2.0**-5) and got.gain_p == pytest.approx(2.0**-4)
    assert got.gain_verdict == "not distinguishable"


def test_too_many_unverified_samples_give_no_number():
    problems = [problem("a", n=4, c=2), problem("b", n=3, c=2, samples=4)]
    table = table_of(run(problems), None)
    got = cell(table, "start", "pass2")
    assert (got.value, got.verdict) == (None, Verdict.REFUSED) and "12.5 % of the samples" in got.why
    allowed = table_of(run(problems, most_unverified=0.2), None)
    assert cell(allowed, "start", "pass2").value is not None
    # A problem that is missing altogether counts.
    assert cell(table_of(run([problem("a", c=2)], expected=2), None), "start", "pass2").verdict is Verdict.REFUSED


def test_k_above_n_is_undefined():
    text = DECLARED.replace("pass@2}", "pass@8}")
    got = cell(table_of(run(HALF), None, text), "start", "pass2")
    assert (got.value, got.verdict) == (None, Verdict.UNDEFINED) and "8 verified samples" in got.why


def test_fix_turns_count_and_their_generations_are_told():
    problems = [problem("a", c=1, n_fixed=4, c_fixed=2, fixes=3), problem("b", c=0, n_fixed=4, c_fixed=0, fixes=4)]
    got = cell(table_of(run(problems), None), "start", "fix2")
    assert got.value == pytest.approx((1 - 1 / 6) / 2)
    # 2 x (1 + 3/4) and 2 x (1 + 4/4).
    assert got.generations == mean_generations(problems, 2) == pytest.approx((3.5 + 4.0) / 2)
    assert "3.8 generations a problem" in to_markdown(table_of(run(problems), None))


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("pass@1", 1 / 4), ("best@4", 1 - (3 / 4) ** 4), ("proved@1", 2 / 4), ("proof_rate", 2 / 4), ("format_rate", 3 / 4),
        ("truncated", 1 / 4), ("tokens", 100), ("tokens_solved", 80), ("tokens_wrong", 320 / 3),
    ],
)  # fmt: skip
def test_each_metric_of_one_problem_by_hand(metric: str, value: float):
    one = problem("a", c=1, c_proof=2, well_formed=3, truncated=1)
    assert float(per_problem(run([one]), parse_metric(metric))["a"]) == pytest.approx(value, rel=1e-15)


def test_what_is_undefined_for_a_problem_is_none_and_not_zero():
    unknown = problem("a", n=0, samples=4, wrong=0, tokens=400)
    for metric in ("pass@1", "best@2", "proof_rate", "tokens_solved", "tokens_wrong"):
        assert per_problem(run([unknown]), parse_metric(metric))["a"] is None


def test_rollouts_to_a_level_are_read_off_the_validations():
    text = DECLARED.replace("metric: tokens}", "metric: rollouts_to@30}").replace("title: \"Mean tokens\"", "title: Rollouts")
    metrics = [{"step": step, "samples": 192, "reward": 0.1} for step in range(1, 11)]
    validated = [
        {"step": 10, "kimina/val/turn_1/proof_rate": 0.4},
        {"step": 0, "kimina/val/turn_1/proof_rate": 0.2},
        {"step": 5, "kimina/val/turn_1/proof_rate": 0.2},
    ]
    curves = training_curves(metrics, validated)
    assert curves.validation == [(0, 0.2), (960, 0.2), (1920, 0.4)]
    table = table_of(run(HALF), run(MOST, curves=curves), text)
    reached = cell(table, "trained", "length")
    assert (reached.value, reached.is_rate, reached.gain, reached.verdict) == (1440, False, None, Verdict.NOT_PUBLISHED)
    assert "| 1,440 rollouts |" in to_markdown(table)
    assert [drawing.name for drawing in paper_drawings(table)].count("validation") == 1
    assert "trainer.test_freq" in cell(table, "start", "length").why
    never = table_of(None, run(MOST, curves=training_curves(metrics, validated[1:])), text)
    assert cell(never, "trained", "length").why == "not reached in 960 rollouts"


def test_every_form_says_the_same():
    table = table_of(run(HALF, evaluation="nano"), None)
    markdown, latex, rows = to_markdown(table), to_latex(table), list(csv.DictReader(io.StringIO(to_csv(table))))
    content = json.loads(json.dumps(to_dict(table), allow_nan=False))
    assert "75.00 % [183] or 75.4 %" in markdown and "50.0 (43.9–56.1)" in markdown and "Trained: a note" in markdown
    assert "not run" in markdown and "quoted only" in markdown and "1 of 3 rows are measured; 1 quoted, 1 not run." in markdown
    assert latex.count(r"\\") == 1 + 6 and r"75.00 \% [183]" in latex
    assert len(rows) == 9 and float(rows[0]["value"]) == content["rows"][0]["cells"]["pass2"]["value"] == 0.5
    assert rows[0]["published_value"] == "0.5" and rows[3]["value"] == ""
    assert [len(texts) for _, _, texts in lines(table)] == [len(HEADINGS)] * 6


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_terminal_shows_rows_without_a_run_too(width: int):
    target = io.StringIO()
    print_paper_table(table_of(run(HALF), None), Console(file=target, width=width))
    text = target.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for part in ("Start", "Trained  not run", "Another  quoted only", "80.1 %"):
        assert part in text


def test_figures_for_which_there_is_data_are_drawn():
    metrics = [{"step": s, "reward": 0.1 * s, "proof_rate": 0.1 * s, "response_tokens": 50, "samples": 4, "violations": {"too_long": 1}} for s in range(1, 6)]
    trained = run(MOST, curves=training_curves(metrics))
    names = [drawing.name for drawing in paper_drawings(table_of(run(HALF), trained))]
    assert names == ["pass_at_k", "tokens", "training", "violations", "length"]
    for drawing in paper_drawings(table_of(run(HALF), trained)):
        first = render(drawing.draw(LIGHT), "svg")
        assert first == render(drawing.draw(LIGHT), "svg") and first != render(drawing.draw(DARK), "svg")
    assert [drawing.name for drawing in paper_drawings(table_of(None, None))] == []


def test_a_curve_rests_on_the_same_problems_at_every_k():
    mixed = [problem(f"p{i}", n=8, samples=8, c=4) for i in range(19)] + [problem("few", n=2, c=2)]
    curve = pass_curve(run(mixed), 0)
    assert [k for k, _ in curve] == [1, 2, 4, 8] and {rate.n for _, rate in curve} == {19}
    assert curve[0][1].value == pytest.approx(0.5)
    assert pass_curve(replace(run([]), expected=0), 0) == []


def test_texts_of_a_declaration_cannot_leave_their_place():
    odd = DECLARED.replace("note: a note", 'note: "first\\n\\\\input{x} <script>"').replace("title: Provers & co", 'title: "P <b>"')
    table = build_table(read_table(odd, "t"), [], words=(), command="python run.py 'a`b'", seed=1)
    table = replace(table, declaration=replace(table.declaration, notes=("one\ntwo",)))
    assert all(line.startswith("%") for line in to_latex(table).splitlines() if "two" in line)
    text = to_markdown(table)
    assert "### P &lt;b>" in text and "- one two" in text and "`` python run.py 'a`b' ``" in text
