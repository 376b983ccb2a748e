"""Declared tables: every published number against a transcription of its own, and what the loader refuses.

The transcriptions were made from the fact sheet of the papers, not from the YAML files. A value is (text as printed, count
or None); conflicting values of one cell stand beside each other.
"""

from fractions import Fraction
from math import floor

import pytest

from kimina.errors import UserError
from kimina.tables.declaration import (
    FIGURES,
    TABLES,
    Metric,
    Published,
    load_table,
    parse_metric,
    percent_agrees,
    read_table,
)

NAMES = sorted(path.stem for path in TABLES.glob("*.yaml"))
#: Comparisons of this project's own, which nobody published.
METHODS = [name for name in NAMES if name.startswith("methods_")]
PAPER_TABLES = [name for name in NAMES if load_table(name).kind == "paper" and name not in METHODS]

# Kimina-Prover-RL, both result tables; counts of 244; the headline's 76.63 and July's 73.4 beside them.
KIMINA_RL = {
    ("distill_1p7b", "pass32"): [("72.95", 178), ("73.4", 179)],
    ("distill_1p7b", "fix32"): [("75.41", 184)],
    ("rl_1p7b", "pass32"): [("76.23", 186), ("76.63", 187)],
    ("rl_1p7b", "fix32"): [("77.87", 190)],
    ("distill_0p6b", "pass32"): [("68.85", 168)],
    ("rl_0p6b", "pass32"): [("71.30", 174)],
}
ABLATIONS = {
    ("start", "pass32"): [("72.95", 178)],
    ("error_correction", "pass32"): [("76.23", 186), ("76.63", 187)],
}
TRAINING = {
    ("step_0", "turn1"): [("66.1", None)],
    ("step_0", "turn2"): [("69.9", None)],
    ("step_1", "length"): [("~5,000", None)],
    ("step_1", "too_many_lines"): [("66", None)],
    ("step_1", "block_formatting"): [("28", None)],
    ("step_20_to_40", "length"): [("~6,500", None)],
    ("step_60", "turn2"): [("73.5", None)],
    ("step_65", "turn1"): [("70.1", None)],
    ("step_70", "turn1"): [("67.8", None)],
    ("step_85", "turn1"): [("69.8", None), ("70", None)],
    ("step_85", "turn2"): [("74.0", None), ("74", None)],
    ("step_85", "length"): [("~12,500", None)],
    ("step_85", "too_many_lines"): [("~10", None)],
    ("step_85", "block_formatting"): [("~2", None)],
}
JULY = {
    ("kimina_1p7b", "pass1"): [("46.7", None)],
    ("kimina_1p7b", "pass32"): [("73.4", 179), ("72.95", 178)],
    ("dsp_plus", "pass1"): [("52.5", None)],
    ("dsp_plus", "pass32"): [("71.3", None)],
    ("dsp_plus", "pass1024"): [("80.7", None)],
    ("deepseek_prover_v2_7b", "pass1"): [("58.6", None)],
    ("deepseek_prover_v2_7b", "pass32"): [("75.6", None)],
    ("deepseek_prover_v2_7b", "pass1024"): [("79.9", None)],
    ("kimina_8b", "pass1"): [("61.1", None)],
    ("kimina_8b", "pass32"): [("78.3", None)],
    ("deepseek_prover_v2_671b", "pass1"): [("61.9", None)],
    ("deepseek_prover_v2_671b", "pass32"): [("82.4", None)],
    ("deepseek_prover_v2_671b", "pass1024"): [("86.6", None)],
    ("kimina_72b", "pass1"): [("63.9", None)],
    ("kimina_72b", "pass32"): [("84.0", None)],
    ("kimina_72b", "fix32"): [("86.4", None)],
    ("kimina_72b", "pass1024"): [("87.7", None)],
    ("kimina_72b", "search"): [("92.2", None)],
}
ERROR_FIXING = {
    ("kimina_72b", "fix16"): [("35.6", 21)],
    ("kimina_72b", "pass32"): [("28.8", 17)],
    ("kimina_72b", "fix32"): [("44.1", 26)],
}


def cells(columns: str, text: str, sep: str = "|") -> dict[tuple[str, str], list[tuple[str, None]]]:
    """Return the cells of a table written as ``row: value|value``; a dash is an empty cell, a slash parts conflicting values."""
    found: dict[tuple[str, str], list[tuple[str, None]]] = {}
    for line in text.strip().splitlines():
        row, values = (part.strip() for part in line.split(":"))
        for column, value in zip(columns.split(), values.split(sep), strict=True):
            if value.strip() != "-":
                found[row, column] = [(one.strip(), None) for one in value.split("/")]
    return found


PREVIEW = cells(
    "pass1 pass8 pass32 pass1024 pass8192 other",
    """
    preview_72b:  52.94|65.16|68.85|77.87|80.74|-
    distill_7b:   52.5|-|63.1|70.8|-|-
    distill_1p5b: 42.6|-|56.2|61.9|-|-
    dsp_v15_rmaxts: -|-|-|-|-|63.5
    stepprover:   -|-|-|-|-|65.9
    hunyuanprover: -|-|-|-|-|68.4
    bfs_prover:   -|-|-|-|-|70.8/72.95
    dsp_v15:      -|-|-|-|-|60.2
    goedel_sft:   -|-|-|-|-|64.7
    leanabell:    -|-|-|-|-|61.1
    """,
)
LONG2SHORT = cells(
    "math500 math500_tokens aime aime_tokens",
    """
    long:        94.1|~1323|63.3|~4214
    rl:          94.6|~1200|60.8|3,272
    dpo:         91.6|~1105|47.1|~3124
    merge_rs:    90.2|~904|42.9|~3037
    merge:       89.2|~859|39.0|~3143
    shortest:    88.2|~647|25.9|~1455
    deepseek_v3: 90.2|~1408|39.2|~5133
    qwen25_72b:  80.0|~633|23.3|~1165
    gpt4:        74.6|~532|9.3|~827
    claude35:    78.3|~425|16.0|~644
    """,
)
CURRICULUM = cells(
    "iteration_0 iteration_12 iteration_24 iteration_27 iteration_33 iteration_39 iteration_42 iteration_44",
    """
    uniform:    0.304|0.371|0.473|0.508|0.519|0.534|0.553|-
    curriculum: 0.304|0.371|0.473|0.513|0.541|0.583|0.590|0.606
    """,
)
REST = cells(
    "omni_math500 math500 aimo2024 aime2024 chatglmmath gaokao gpqa k12_bio k12_chem k12_phys kaoyan total start",
    """
    ours: .452|.900|.30|.40|.785|.868|.227|.774|.519|.603|.813|.650|.511
    rest: .338|.804|.10|.167|.744|.832|.156|.729|.534|.585|.701|.590|.533
    """,
)
DRGRPO = cells(
    "reward tokens",
    """
    grpo:   ~0.6|~1000
    drgrpo: ~0.6|~520
    """,
)
BENCHMARKS = cells(
    "aime24 amc math500 minerva olympiad avg",
    """
    oat_zero_7b:                 43.3|62.7|80.0|30.1|41.0|51.4
    qwen2_5_math_7b:             16.7|38.6|50.6|9.9|16.6|26.5
    qwen2_5_math_7b_no_template: 0.2/20.0|45.8|69.0|21.3|34.7|38.2
    simplerl_zero_7b:            26.7|60.2|78.2|27.6|40.3|46.6
    prime_zero_7b:               16.7|62.7|83.8|36.0|40.9|48.0
    orz_7b_3k:                   13.3|47.0|79.2|31.6|44.0|43.0
    orz_7b_8k:                   13.3|54.2|82.4|31.6|47.9|45.9
    r1_distill_7b_3k:            10.0|26.2|60.1|23.0|23.1|28.5
    r1_distill_7b_8k:            33.3|68.4|88.1|35.9|47.7|54.7
    qwen2_5_math_7b_instruct:    16.7|53.0|83.6|29.8|42.7|45.1
    oat_zero_1_5b:               20.0|53.0|74.2|25.7|37.6|42.1
    oat_zero_3b:                 6.7|18.1|50.0|14.3|14.7|20.7
    qwen25_math_1p5b:            -|-|-|-|-|24.2
    qwen25_math_1p5b_no_template: -|-|-|-|-|33.1
    llama32_3b_drgrpo:           -|-|-|-|-|6.8
    llama32_3b_finemath_drgrpo:  -|-|-|-|-|14.8
    """,
)
TRANSCRIBED = {
    "kimina_rl_minif2f": KIMINA_RL,
    "kimina_rl_ablations": ABLATIONS,
    "kimina_rl_training": TRAINING,
    "kimina_prover_july": JULY,
    "kimina_error_fixing": ERROR_FIXING,
    "kimina_preview": PREVIEW,
    "k15_long2short": LONG2SHORT,
    "k15_curriculum": CURRICULUM,
    "k15_rest": REST,
    "k15_length": {},
    "drgrpo": DRGRPO,
    "drgrpo_benchmarks": BENCHMARKS,
}
#: How each printed percentage comes from its count: rounded and truncated agree, or only one of them does.
COUNTED = {
    ("72.95", 178, 244): "both",
    ("73.4", 179, 244): "rounded",
    ("75.41", 184, 244): "rounded",
    ("76.23", 186, 244): "rounded",
    ("76.63", 187, 244): "truncated",
    ("77.87", 190, 244): "rounded",
    ("68.85", 168, 244): "both",
    ("71.30", 174, 244): "one digit",
    ("35.6", 21, 59): "rounded",
    ("28.8", 17, 59): "both",
    ("44.1", 26, 59): "rounded",
}


def both(published: Published) -> list[tuple[str | None, int | None]]:
    return [(one.percent or one.value, one.count) for one in (published, *published.also)]


def test_every_table_has_a_transcription():
    assert set(TRANSCRIBED) == set(PAPER_TABLES)


@pytest.mark.parametrize("name", PAPER_TABLES)
def test_published_values_are_what_was_printed(name):
    declared = {(row.id, column): both(value) for row in load_table(name).rows for column, value in row.published.items()}
    assert declared == TRANSCRIBED[name]


def test_counts_are_those_of_the_printed_percentages():
    seen = set()
    for name in PAPER_TABLES:
        table = load_table(name)
        for row in table.rows:
            for value in (one for published in row.published.values() for one in (published, *published.also)):
                if value.count is not None:
                    seen.add((value.percent, value.count, table.benchmark.problems))
    assert seen == set(COUNTED)
    for (percent, count, problems), how in COUNTED.items():
        digits = 1 if how == "one digit" else len(percent.partition(".")[2])
        scaled, printed = Fraction(100 * count, problems) * 10**digits, Fraction(percent) * 10**digits
        ways = {"rounded": floor(scaled + Fraction(1, 2)) == printed, "truncated": floor(scaled) == printed}
        expected = {"rounded": how in ("both", "rounded", "one digit"), "truncated": how in ("both", "truncated", "one digit")}
        assert ways == expected, percent
        assert abs(Fraction(100 * count, problems) - Fraction(percent)) < Fraction(50, problems), "the nearest count"


def test_gains_of_the_recipe_are_eight_six_and_six_problems():
    table = load_table("kimina_rl_minif2f")
    for row, column, gain in (("rl_1p7b", "pass32", 8), ("rl_1p7b", "fix32", 6), ("rl_0p6b", "pass32", 6)):
        after = table.row(row)
        assert after.published[column].count - table.row(after.baseline).published[column].count == gain


def test_figure_readings_say_how_well_they_were_read():
    accuracies = {"k15_long2short": {"±0.1", "±10", "±5", None}, "k15_curriculum": {"±0.003"}, "k15_rest": {"±0.003"}}
    for name, expected in accuracies.items():
        values = [value for row in load_table(name).rows for value in row.published.values()]
        assert {value.digitised for value in values} == expected
    rows = load_table("k15_long2short").rows
    printed = {(row.id, column) for row in rows for column, value in row.published.items() if value.digitised is None}
    assert printed == {("rl", "aime"), ("rl", "aime_tokens"), ("rl", "math500"), ("shortest", "math500")}


def test_conflicting_values_have_different_sources():
    conflicts = 0
    for name in PAPER_TABLES:
        for value in (value for row in load_table(name).rows for value in row.published.values()):
            sources = [value.source, *(other.source for other in value.also)]
            conflicts += len(value.also)
            assert len(set(sources)) == len(sources)
    assert conflicts == 8


@pytest.mark.parametrize("name", PAPER_TABLES)
def test_a_file_starts_with_paper_table_and_command(name):
    lines = (TABLES / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    comment = [line for line in lines[:4] if line.startswith("#")]
    assert comment[0].startswith("# Paper: ") and comment[1].startswith("# Table: ")
    assert comment[-1] == f"#   python run.py stage=table table={name}"
    assert all(len(line) <= 130 for line in lines)


@pytest.mark.parametrize("name", METHODS)
def test_a_comparison_of_methods_quotes_nothing_and_starts_all_rows_alike(name):
    lines = (TABLES / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[1] == f"#   python run.py stage=table table={name} scale=nano table.build=true"
    table = load_table(name)
    assert not any(row.published for row in table.rows) and {row.experiment for row in table.rows} == {"nano"}
    seeds = [next((word for word in row.settings if word.startswith("seed=")), None) for row in table.rows]
    if any(seeds):
        assert all(seeds) and all("sft.seed=1" in row.settings for row in table.rows)
        # each row is compared with the one of its own seed
        assert all(row.baseline is None or row.baseline[-1] == row.id[-1] for row in table.rows)


def test_a_rows_settings_are_words_of_the_command_line():
    table = MINIMAL.replace("model: start,", "model: start, settings: [seed=2, loss=grpo],")
    assert read_table(table, "t").row("base").settings == ("seed=2", "loss=grpo")
    for wrong in ("[seed 2]", "[2]", "seed=2"):
        with pytest.raises(UserError, match="settings"):
            read_table(MINIMAL.replace("model: start,", f"model: start, settings: {wrong},"), "t")


def test_the_default_table_is_a_comparison():
    table = load_table("nano")
    assert (table.kind, table.rows, table.benchmark) == ("comparison", (), None)


def test_columns_that_used_more_samples_say_how_many():
    for name in [*PAPER_TABLES, *METHODS]:
        for column in load_table(name).columns:
            if column.metric and parse_metric(column.metric).fixed:
                assert column.budget and "up to" in column.budget


MINIMAL = """
kind: paper
title: T
source: S
benchmark: {name: miniF2F-test, problems: 244, evaluation: minif2f}
columns:
  - {id: pass32, title: P, metric: pass@32}
  - {id: tokens, title: L, metric: tokens}
rows:
  - {id: base, title: B, experiment: kimina_rl/distill_1p7b, model: start, published: {pass32: {count: 178, percent: "72.95"}}}
  - {id: after, title: A, experiment: kimina_rl/rl_1p7b, baseline: base}
figures: [tokens]
"""


def test_a_declaration_is_read_whole():
    table = read_table(MINIMAL, "x")
    assert (table.name, table.figures, table.notes) == ("x", ("tokens",), ())
    base, after = table.rows
    assert (base.model, after.model, after.baseline, base.baseline) == ("start", "after", "base", None)
    value = base.published["pass32"]
    assert (value.source, value.number, value.share, value.digitised) == ("S", 72.95, pytest.approx(0.7295), None)
    assert table.column("tokens").metric == "tokens" and table.row("after") is after


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kind: paper", "kind: papre", ["kind", "'papre'", "paper, comparison"]),
        ("kind: paper\n", "", ["kind", "missing"]),
        ("source: S\n", "", ["source", "missing"]),
        ("source: S", "sauce: S", ["sauce", "no such key", "source"]),
        ("title: T", "title: 3", ["title", "3", "quotes"]),
        ("evaluation: minif2f", "evaluation: minif2", ["benchmark.evaluation", "evaluation=minif2", "minif2f"]),
        ("problems: 244", "problems: 0", ["benchmark.problems", "at least 1"]),
        ("metric: pass@32", "metric: pas@32", ["columns.pass32", "metric 'pas@32'", "pass@32"]),
        ("metric: pass@32", "metric: pass@0", ["'pass@0'"]),
        ("metric: tokens", "metric: token", ["columns.tokens", "tokens"]),
        ("id: tokens,", "id: pass32,", ["columns", "'pass32' stands twice"]),
        ("id: after", "id: base", ["rows", "'base' stands twice"]),
        ("id: after", "id: After", ["rows.After.id", "no id"]),
        ("experiment: kimina_rl/rl_1p7b,", "experiment: kimina_rl/rl_1p7,", ["rows.after.experiment", "kimina_rl/rl_1p7b"]),
        ("experiment: kimina_rl/rl_1p7b,", "experiment: tables/nano,", ["rows.after.experiment", "tables/nano"]),
        ("baseline: base", "baseline: bse", ["rows.after.baseline", "'bse'", "base"]),
        ("baseline: base", "baseline: after", ["rows.after.baseline", "'after'"]),
        ("model: start", "model: before", ["rows.base.model", "'before'", "after, start"]),
        ("experiment: kimina_rl/rl_1p7b, baseline: base", "note: n", ["rows.after.published", "quoted"]),
        ("published: {pass32", "published: {pass_32", ["rows.base.published.pass_32", "columns", "pass32"]),
        ("count: 178", "count: 177", ["rows.base.published.pass32.count", "177 of 244 is 72.541 %, not 72.95"]),
        ("count: 178", "count: 245", ["245 of 244"]),
        ("count: 178", "cuont: 178", ["cuont", "count"]),
        ('percent: "72.95"', "percent: 72.95", ["percent", "72.95", "quotes"]),
        ('percent: "72.95"', 'percent: "72.95%"', ["percent", "'72.95%'"]),
        ('count: 178, percent: "72.95"', 'percent: "172.95"', ["172.95 is more than 100"]),
        ('count: 178, percent: "72.95"', 'percent: "72.95", value: "3", unit: t', ["exactly one of percent and value"]),
        ('count: 178, percent: "72.95"', 'value: "3"', ["unit"]),
        ('count: 178, percent: "72.95"', 'value: "three", unit: t', ["value", "'three'"]),
        ('percent: "72.95"', 'percent: "72.95", digitised: "0.1"', ["digitised", "'0.1'", "±0.1"]),
        ('percent: "72.95"', 'percent: "72.95", also: [{percent: "73.4", count: 1}]', ["also.1.count", "1 of 244"]),
        ("figures: [tokens]", "figures: [token]", ["figures", "'token'", "tokens"]),
        ("figures: [tokens]", "figures: tokens", ["figures", "no list"]),
        ("title: T", "title: T\ntitle: U", ["line", "'title' stands twice"]),
        ("columns:\n", "columns: []\nrest:\n", ["rest", "no such key"]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_file_and_place(old, new, expected):
    assert old in MINIMAL
    with pytest.raises(UserError) as caught:
        read_table(MINIMAL.replace(old, new, 1), "some_table")
    text = str(caught.value)
    assert text.startswith("experiments/tables/some_table.yaml: ")
    assert all(word in text for word in expected), text


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", "kind: [", "\tkind: paper", "kind: {a: 1}", "kind: paper\ntitle: T\nsource: S\nrows: 3"]
)
def test_what_is_no_declaration_is_a_users_mistake(text):
    with pytest.raises(UserError, match=r"experiments/tables/x\.yaml"):
        read_table(text, "x")


@pytest.mark.parametrize("name", ["no_such_table", "../secret", "", "kimina_rl_minif2"])
def test_an_unknown_table_is_answered_with_those_that_exist(name):
    with pytest.raises(UserError) as caught:
        load_table(name)
    assert f"table={name}:" in str(caught.value) and "kimina_rl_minif2f" in str(caught.value)
    assert "type: python run.py stage=table table=" in str(caught.value)


def test_metrics_are_parsed_and_printed_alike():
    assert parse_metric("pass@32") == Metric("pass", 32)
    assert parse_metric("pass@32+fix") == Metric("pass", 32, True)
    assert parse_metric("rollouts_to@35") == Metric("rollouts_to", 35)
    assert parse_metric("best@8+fix") == Metric("best", 8, True)
    assert parse_metric("tokens_wrong") == Metric("tokens_wrong")
    for text in ("pass@1", "pass@16+fix", "best@8", "proved@32", "proof_rate", "format_rate", "truncated"):
        assert str(parse_metric(text)) == text


@pytest.mark.parametrize(
    "text", ["", "pass", "pass@", "pass@-1", "pass@01", "pass@1.5", "proved@8+fix", "tokens@3", "pass@32+fixed", "Pass@32"]
)
def test_no_other_text_is_a_metric(text):
    with pytest.raises(UserError, match="there is no such metric"):
        parse_metric(text)


def test_a_printed_zero_may_stand_for_a_digit_that_was_not_computed():
    assert percent_agrees("71.30", 174, 244) and percent_agrees("71.31", 174, 244) and not percent_agrees("71.32", 174, 244)
    assert percent_agrees("76.63", 187, 244) and percent_agrees("76.64", 187, 244) and not percent_agrees("76.62", 187, 244)
    assert percent_agrees("100", 244, 244) and percent_agrees("0.00", 0, 244) and not percent_agrees("0.00", 1, 244)
    assert not percent_agrees("71.30", 173, 244) and not percent_agrees("71.30", 175, 244)


def test_numbers_of_printed_texts():
    def number(value: str, unit: str = "tokens") -> Published:
        return Published(None, None, value, unit, "s", None)

    assert [number(text).number for text in ("~5,000", "3,272", ".650", "~0.6", "66")] == [5000, 3272, 0.65, 0.6, 66]
    assert number(".650", "accuracy").share == 0.65 and number("66").share is None


def test_all_figures_of_declarations_are_known():
    assert {figure for name in PAPER_TABLES for figure in load_table(name).figures} <= set(FIGURES)


def test_yaml_nested_without_end_is_a_users_error():
    with pytest.raises(UserError, match="nested too deeply"):
        read_table("a: " + "[" * 5000, "t")
