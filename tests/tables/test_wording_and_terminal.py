import io

import pytest
import rich.console

from kimina.evaluation import EvalResult, Outcome
from kimina.tables import compare, print_table
from kimina.tables.result_table import FAMILY
from kimina.tables.wording import (
    ability_sentence,
    cell_sentence,
    p_phrase,
    p_text,
    points,
    unlearned_sentence,
    unverified_sentence,
)


def _plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def _uniform(label, solved_of_8, problems=40):
    return EvalResult.of(
        label,
        [
            Outcome(f"p{p}", "conj", 1, s, "proved" if s < solved_of_8(p) else "lean_error", (), None, 10, True)
            for p in range(problems)
            for s in range(8)
        ],
    )


def test_numbers_as_they_are_written():
    assert [points(value) for value in (0.154, -0.02, 0.0, -0.0001)] == ["+15.4", "−2.0", "0.0", "0.0"]
    assert [p_text(p) for p in (None, 0.0001, 0.0123, 0.5)] == ["–", "<0.001", "0.012", "0.50"]
    assert _plain(p_phrase(2.4e-12)) == "p = 2 × 10⁻¹²"
    assert _plain(p_phrase(0.04)) == "p = 0.040"


def test_sharpening_is_told_from_new_ability():
    sharper = compare(_uniform("b", lambda p: 2), _uniform("a", lambda p: 5), ks=(1, 8))
    assert "sharpening" in ability_sentence(sharper)
    assert cell_sentence(sharper.overall.cells[0]).startswith("pass@1 is higher after training: +37.5 points")
    abler = compare(_uniform("b", lambda p: 2 * (p < 20)), _uniform("a", lambda p: 2), ks=(1, 8))
    assert "20 that no sample solved before are solved after" in ability_sentence(abler)
    assert "new ability, not only" in ability_sentence(abler)
    narrower = compare(_uniform("b", lambda p: 1), _uniform("a", lambda p: 8 * (p < 25)), ks=(1, 8))
    assert "surer of less" in ability_sentence(narrower)
    same = compare(_uniform("b", lambda p: 2), _uniform("a", lambda p: 2), ks=(1, 8))
    assert "No change of ability is shown" in ability_sentence(same)
    assert "not distinguishable" in cell_sentence(same.overall.cells[0])


def test_families_that_did_not_learn_are_named(table):
    assert unlearned_sentence(table.grouped(FAMILY)) == "No gain is shown for 1 of 2 families: <b>iff</b>."
    assert unlearned_sentence([]) == ""
    learned = next(row for row in table.grouped(FAMILY) if row.name == "conj")
    assert unlearned_sentence([learned, learned]) == "Every one of the 2 families improved."


def test_undefined_is_said(table):
    assert "no theorem has 64 verified samples" in cell_sentence(table.overall.cell(64))


def test_unverified_samples_are_said(table):
    assert unverified_sentence(table) == "All 1,280 samples were judged."
    one = Outcome("p", "conj", 1, 0, "unverified", (), None, 1, True)
    pair = compare(EvalResult.of("b", [one]), EvalResult.of("a", [one]))
    assert "2 samples of 2 could not be verified" in unverified_sentence(pair)


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_the_whole_table(table, width):
    stream = io.StringIO()
    print_table(table, rich.console.Console(file=stream, width=width))
    shown = _plain(stream.getvalue())
    for text in (
        "40 test theorems, 16 samples each",
        "pass@1",
        "pass@8",
        "pass@64",
        "level 4",
        "<b>iff</b>",
        "sharpening",
        "p*",
    ):
        assert text in shown, text
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width


def test_a_result_without_any_verdict_is_shown_as_dashes():
    one = Outcome("p", "conj", 1, 0, "unverified", (), None, 1, True)
    stream = io.StringIO()
    print_table(
        compare(EvalResult.of("b", [one]), EvalResult.of("a", [one])), rich.console.Console(file=stream, width=90)
    )
    assert "–" in stream.getvalue()
    assert "nan" not in stream.getvalue().lower()
