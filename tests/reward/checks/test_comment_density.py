"""comment_density: comments are at most a fifth of any block."""

import pytest


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ("-- c\n" + "x" * 15, 0.2),
        ("-- cc\n" + "x" * 15, 5 / 21),
        ("/- c -/" + "x" * 13, 0.35),
        ('"-- no"', 0.0),
        ("", 0.0),
    ],
)
def test_characters_of_comments(measured, answer, block, value):
    for output in (answer(tactics=(block,), lean=""), answer(tactics=(), lean=block)):
        found = measured("comment_density", output)
        assert found["value"] == pytest.approx(value)
        assert found["violated"] is (value > 0.2)


def test_the_statements_own_docstring_does_not_count(measured, answer):
    statement = "/-- A long\n   explanation. -/\ntheorem t : True := by sorry"
    lean = statement.replace("by sorry", "trivial")
    assert not measured("comment_density", answer(tactics=(), lean=lean), statement=statement)["violated"]
    windows = statement.replace("\n", "\r\n")
    assert not measured("comment_density", answer(tactics=(), lean=lean), statement=windows)["violated"]
    twice = lean.replace("theorem", "theorem u : True := trivial\n/-- A long explanation. -/\ntheorem")
    assert measured("comment_density", answer(tactics=(), lean=twice), statement=statement)["violated"]


def test_threshold(measured, answer):
    assert measured("comment_density", answer(tactics=(), lean="x -- c"), max=0.6)["violated"]
    assert not measured("comment_density", answer(tactics=(), lean="x -- c"), max=0.7)["violated"]
