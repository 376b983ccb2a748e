"""tactics_mismatch: the thinking covers the final proof."""

import pytest


def lines(count, start=0):
    return "\n".join(f"  have h{i} : True := trivial" for i in range(start, start + count))


@pytest.mark.parametrize(
    ("found", "whole", "violated"), [(7, 10, False), (14, 20, False), (9, 13, True), (69, 100, True)]
)
def test_share_of_the_final_lines(measured, answer, found, whole, violated):
    output = answer(tactics=(lines(found), lines(found)), lean=lines(whole))
    result = measured("tactics_mismatch", output)
    assert result["value"] == pytest.approx(found / whole)
    assert result["violated"] is violated


@pytest.mark.parametrize(("method", "value"), [("iof", 0.5), ("iou", 2 / 7), ("subcode", 0.4)])
def test_methods(measured, answer, method, value):
    output = answer(tactics=(lines(5, start=2),), lean=lines(4))
    assert measured("tactics_mismatch", output, method=method, min=0.1)["value"] == pytest.approx(value)


def test_comments_indentation_and_repeated_lines_do_not_matter(measured, answer):
    output = answer(tactics=("a -- x\n    b\na", "c"), lean="  a\n/- y\nz -/\nb\nc -- w\na")
    assert measured("tactics_mismatch", output)["value"] == 1.0


def test_letter_case_matters(measured, answer):
    assert measured("tactics_mismatch", answer(tactics=("hP",), lean="hp"))["value"] == 0.0


@pytest.mark.parametrize("output", ["no tags", "<think>\n</think>\n```lean4\nx\n```"])
def test_needs_blocks(measured, output):
    assert measured("tactics_mismatch", output) is None


def test_not_judged_after_too_few_or_unclosed_blocks(profile_scorer, answer):
    statement = "theorem t : True := by sorry"
    few = profile_scorer("kimina").check_format(statement, answer(tactics=("zzz",), lean="theorem t : True := trivial"))
    assert few.violations == ("too_few_tactic_blocks",)
