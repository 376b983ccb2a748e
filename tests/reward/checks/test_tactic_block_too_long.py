"""tactic_block_too_long: no block is nearly the whole proof."""

import pytest


@pytest.mark.parametrize(
    ("lean", "longest", "violated"),
    [(6, 5, False), (6, 6, True), (7, 6, False), (10, 10, True), (20, 19, False), (20, 20, True), (140, 133, False)],
)
def test_against_the_lines_of_the_proof(measured, answer, lean, longest, violated):
    output = answer(tactics=("x\n" * (longest - 1) + "x",), lean="y\n" * (lean - 1) + "y")
    found = measured("tactic_block_too_long", output)
    assert (found["value"], found["violated"]) == (longest, violated)


def test_blank_lines_count_in_the_block_and_not_around_the_proof(measured, answer):
    assert measured("tactic_block_too_long", answer(tactics=("x\n\n\n\n\nx",), lean="\n\ny\n\n\n"))["violated"]


def test_thresholds(measured, answer):
    output = answer(tactics=("x\n" * 5 + "x",), lean="y\n" * 9 + "y")
    assert measured("tactic_block_too_long", output, ratio=0.5)["violated"]
    assert not measured("tactic_block_too_long", output, ratio=0.5, floor=6)["violated"]
