import io
import sys

import pytest
from PIL import Image

from kimina.evaluation import EvalResult
from kimina.tables import compare
from kimina.tables.curves import smoothed, training_curves
from kimina.tables.figures import DARK, LIGHT, drawings, render


def test_curves_of_a_run(metrics):
    curves = training_curves(reversed(metrics))
    assert curves.reward[0] == (1, pytest.approx(0.31))
    assert curves.response_length[-1] == (20, 120.0)
    assert curves.steps == 20
    assert list(curves.violations) == ["statement_changed"]


def test_a_violation_that_a_step_does_not_name_did_not_occur(metrics):
    curve = training_curves(metrics).violations["statement_changed"]
    assert curve[0] == (1, 0.095)
    assert curve[-1] == (20, 0.0)


def test_gaps_are_left_out():
    rows = [{"step": 1, "reward": None, "samples": 0, "violations": {}}, {"step": 2, "reward": 0.5}, {"note": 1}]
    curves = training_curves(rows)
    assert curves.reward == [(2, 0.5)]
    assert curves.violations == {}
    assert training_curves([]).steps == 0


def test_smoothing_is_a_centred_mean():
    assert smoothed([(1, 0.0), (2, 3.0), (3, 6.0)], window=3) == [(1, 1.5), (2, 3.0), (3, 4.5)]


def test_every_figure_is_drawn_in_both_themes(table, metrics):
    shown = drawings(table, training_curves(metrics))
    assert [drawing.name for drawing in shown] == [
        "pass_at_k", "reward", "violations", "response_length", "by_level", "by_family",
    ]  # fmt: skip
    for drawing in shown:
        image = Image.open(io.BytesIO(render(drawing.draw(LIGHT), "png")))
        assert image.width == 1040
        assert len(image.convert("L").getcolors()) > 20, drawing.name
        dark = render(drawing.draw(DARK), "svg")
        assert DARK.paper.encode() in dark


def test_figures_are_the_same_bytes_for_the_same_data(table, metrics):
    drawing = drawings(table, training_curves(metrics))[0]
    for kind in ("png", "svg"):
        assert render(drawing.draw(LIGHT), kind) == render(drawing.draw(LIGHT), kind)


def test_without_training_there_is_still_a_pass_curve(runs):
    before = runs[0]
    one_family = before.where(lambda problem: problem.family == "conj" and problem.level == 2)
    table = compare(one_family, EvalResult("after", one_family.problems))
    assert [drawing.name for drawing in drawings(table, training_curves([]))] == ["pass_at_k"]


def test_drawing_needs_no_display_and_leaves_pyplot_alone(table, metrics):
    for drawing in drawings(table, training_curves(metrics)):
        drawing.draw(LIGHT)
    assert "matplotlib.pyplot" not in sys.modules
